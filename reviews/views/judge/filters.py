"""The filters of the judge's pages, with the scope in the URL, and links that keep them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from django.http import Http404, QueryDict
from django.urls import reverse

from cognireview.types.report_parts import Funnel, ReviewerAgreement
from reviews.http.request import Request
from reviews.judge import accuracy, funnel, planning, scope
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.flag_choice import USUAL_LIMIT
from reviews.judge.reviewer_agreement import measure_reviewer_agreement
from reviews.judge.scope import DATES, NO_MODEL, SCOPE_FILTERS, JudgeScope, ReadScope, ScopeChoices
from reviews.models import Run, User
from reviews.models.runs import RunQuerySet
from reviews.search.filter_options import FilterOption
from reviews.views.shortcuts import load_run, record_list

_NOT_PLANNED = (
    "Filters by reviewer, task and date do not apply to a plan: it counts all blind reviews, and an interval "
    "needs several tasks."
)


class FilterField(NamedTuple):
    name: str
    title: str
    #: The values to choose from; None if people enter the value.
    options: list[FilterOption] | None
    #: The chosen value, or empty for all.
    value: str
    #: Whether there is a choice.
    narrows: bool
    #: The type of the input without options.
    kind: str = "text"


@dataclass(frozen=True, eq=False)
class JudgeFilters:
    """The filters of a page, and the scope they choose."""

    scope: JudgeScope
    fields: tuple[FilterField, ...]
    #: The chosen values, by filter name.
    chosen: dict[str, str]
    #: Sentences about values that are ignored.
    problems: tuple[str, ...] = ()
    #: The criterion to break down by judge, prompt and model; None for the verdict.
    criterion: str | None = None
    #: The ratings to show errors of, such as `blind-flagged`; empty for those that say most.
    ratings: str = ""
    #: The limit of the error rate among unflagged records, as a share.
    limit: float = USUAL_LIMIT
    #: Why filters do not apply to the page, as sentences.
    reasons: tuple[str, ...] = ()
    #: Who reads the page; None for a page that shows nothing of other runs.
    reader: User | None = None

    @cached_property
    def compared(self) -> JudgeVsHuman:
        """The figures of the judge's accuracy, which several sections of a page show."""
        return accuracy.compare_with_humans(self.scope)

    @cached_property
    def agreement(self) -> tuple[ReviewerAgreement, ...]:
        """The agreement among reviewers, which several sections of a page show."""
        return measure_reviewer_agreement(self.scope)

    @cached_property
    def followed(self) -> Funnel:
        """The records to score blind, which the headline and a section show."""
        return funnel.follow_records(self.scope, self.compared)

    @property
    def target(self) -> float | None:
        """The accuracy that the judge should reach, in percent."""
        target = self.scope.run.accuracy_target
        return None if target is None else 100 * target

    def address(self, place: str, *arguments: str, **more: str) -> str:
        """Return a URL of the run that keeps the chosen filters and adds parameters."""
        return reverse(place, args=[self.scope.run.pk, *arguments], query=self.chosen | more)

    def ratings_of(self, figures: AccuracyFigures, **more: str) -> str:
        """Return the URL of the list of the ratings that figures count."""
        place = {"criterion": figures.criterion or "", "basis": figures.basis, "part": figures.part}
        return self.address("judge-decisions", **place, **more)

    def blind_ratings(self, criterion: str | None, **more: str) -> str:
        """Return the URL of the list of blind ratings of a criterion, or of the verdict."""
        return self.address("judge-decisions", criterion=criterion or "", basis="blind", **more)


def load(request: Request, run_pk: int) -> JudgeFilters:
    """Return the run with the filters of the URL. Only leads may see it."""
    found = read_filters(load_run(request, run_pk, "lead_review"), request.GET)
    return replace(found, reader=request.user)


def load_of_records(request: Request, run_pk: int) -> JudgeFilters:
    """Load the run of a page about records, whose filters may choose records without ratings."""
    run = load_run(request, run_pk, "lead_review")
    return replace(_filters(scope.read_record_scope(run, request.GET), request.GET), reader=request.user)


def read_filters(run: Run, query: QueryDict) -> JudgeFilters:
    """Read the filters of a run's page from the query string."""
    return _filters(scope.read_scope(run, query), query)


def _filters(read: ReadScope, query: QueryDict) -> JudgeFilters:
    return JudgeFilters(
        read.scope,
        tuple(_field(name, read) for name in SCOPE_FILTERS),
        read.chosen,
        _ignored(read),
        query.get("of") or None,
        query.get("ratings", ""),
        _limit(query.get("limit", "")),
    )


def other_runs(request: Request, run: Run) -> RunQuerySet:
    """Return the other runs that the reader may see, newest first."""
    return Run.objects.visible_to(request.user).exclude(pk=run.pk).order_by("-pk")


def find_other(request: Request, run: Run) -> Run | None:
    """Return the run that the URL compares with, if it names one. Raises `Http404` for one out of sight."""
    chosen = request.GET.get("with")
    if not chosen:
        return None
    found = next((other for other in other_runs(request, run) if str(other.pk) == chosen), None)
    if found is None:
        raise Http404
    return found


def load_shared(request: Request, run: Run, other: Run | None) -> JudgeFilters:
    """Return the filters of a page that compares a run with another one, or (None) its own judges."""
    shared = read_shared_filters(other, run, request.GET)
    return JudgeFilters(
        shared.scope,
        tuple(_field(name, shared.read) for name in SCOPE_FILTERS if name not in shared.reasons),
        shared.read.chosen,
        _ignored(shared.read),
        reasons=tuple(shared.reasons.values()),
        reader=request.user,
    )


def load_planned(request: Request, run_pk: int) -> JudgeFilters:
    """Return the filters of a plan: those of the URL, or by default those of the plan being served."""
    run = load_run(request, run_pk, "lead_review")
    values, served = request.GET.dict(), planning.served_plan(run)
    if served and values.keys().isdisjoint({"target", "aim", *planning.PLAN_FILTERS}):
        values |= served["filters"]
    return replace(read_planned_filters(run, values), reader=request.user)


def read_planned_filters(run: Run, values: Mapping[str, str]) -> JudgeFilters:
    """Read the filters of a plan. The others are kept in links, and do not apply."""
    read = scope.read_record_scope(run, values)
    fields = tuple(_field(name, read) for name in planning.PLAN_FILTERS)
    reasons = () if read.chosen.keys() <= {*planning.PLAN_FILTERS} else (_NOT_PLANNED,)
    return JudgeFilters(read.scope, fields, read.chosen, _ignored(read), reasons=reasons)


def _ignored(read: ReadScope) -> tuple[str, ...]:
    return tuple(f"{problem} The filter is ignored." for problem in read.problems.values())


def _field(name: str, read: ReadScope) -> FilterField:
    options, value = _options(read.choices).get(name), read.chosen.get(name, "")
    is_possible = len(options) > 1 if options is not None else bool(read.choices.reviewers)
    kind = "date" if name in DATES else "text"
    return FilterField(name, SCOPE_FILTERS[name], options, value, bool(value) or is_possible, kind)


def _limit(text: str) -> float:
    """Return a limit given in percent as a share, or the usual one."""
    try:
        given = float(text) / 100
    except ValueError:
        return USUAL_LIMIT
    return given if 0 < given < 1 else USUAL_LIMIT


def _options(choices: ScopeChoices) -> dict[str, list[FilterOption]]:
    return {
        "judge": [FilterOption(name, name) for name in choices.judges],
        "template": [FilterOption(name, name) for name in choices.templates],
        "model": [FilterOption(name or NO_MODEL, name or "no model") for name in choices.models],
        "reviewer": [FilterOption(person.username, person.name) for person in choices.reviewers],
    }


def list_of_scope(scope: JudgeScope, *, model: str) -> str:
    """Return the URL of the list of a model's records in a scope."""
    given = {"judge": scope.judge, "template": scope.template, "model": model, "task": scope.task}
    return record_list(scope.run, *((name, value) for name, value in given.items() if value))
