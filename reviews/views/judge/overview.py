"""Is the judge right? The pages about it: a question each, for leads."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.database.replica import by_replica
from reviews.http.request import Request
from reviews.judge import (
    agreement,
    error_analysis,
    flag_precision,
    leaderboard,
    missed_errors,
    reviewer_agreement,
    run_facts,
)
from reviews.judge.agreement import JudgeVsHuman
from reviews.models import Run
from reviews.views.judge import confusion, findings, scope, tables
from reviews.views.judge.confusion import Confusion
from reviews.views.judge.scope import Narrowing
from reviews.views.tables import Table, as_csv, on_paper

# Each page: its title, and which filters narrow it.
PAGES = {
    "judge": ("Judge vs human", ("judge", "template", "model", "reviewer")),
    "judge-flag-precision": ("Reasons", ("reviewer",)),
    "judge-missed-errors": ("What the flags miss", ("judge", "template", "model")),
    "judge-leaderboard": ("Models", ("judge", "template")),
    "judge-error-analysis": ("Defects", ("judge", "template", "model")),
    "judge-report": ("Report", ("judge", "template", "model", "reviewer")),
}
_MOST_OPEN = 8


class Tab(NamedTuple):
    """One of the pages, as a choice."""

    title: str
    url: str
    is_current: bool


class Shown(NamedTuple):
    """A table, and the address of the same as CSV."""

    table: Table
    csv_url: str


class Section(NamedTuple):
    """The figures of one kind of reviews, and their confusion tables."""

    shown: Shown
    confusions: list[Confusion]
    is_blind: bool
    is_open: bool


def load(request: Request, run_pk: int) -> Narrowing:
    """The run, with what the address leaves of it. For leads."""
    check(request.user, "lead_review")
    return scope.read(get_object_or_404(Run, pk=run_pk), request.GET)


def page(request: Request, narrowing: Narrowing, place: str, context: dict[str, Any]) -> HttpResponse:
    """A page of `PAGES` with its template, which has the name of its address."""
    title, narrows = PAGES[place]
    around = {
        "run": narrowing.scope.run,
        "page_title": title,
        "narrowing": narrowing,
        "fields": [field for field in narrowing.fields if field.name in narrows and field.narrows],
        "idle": narrowing.idle(narrows),
        "kept": [(name, value) for name, value in narrowing.chosen.items() if name not in narrows],
        "tabs": [Tab(PAGES[other][0], narrowing.address(other), other == place) for other in PAGES],
    }
    name = "overview" if place == "judge" else place.removeprefix("judge-").replace("-", "_")
    return render(request, f"judge/{name}.html", around | context)


def shown(table: Table, narrowing: Narrowing, **more: str) -> Shown:
    return Shown(table, narrowing.address("judge-table", table.name, **more))


@require_safe
@never_cache
@by_replica
def judge(request: Request, run_pk: int) -> HttpResponse:
    """The judge against people; `of` names the criterion that is broken down by judge, prompt and model."""
    narrowing = load(request, run_pk)
    compared = agreement.compare(narrowing.scope)
    criteria = {figures.criterion for figures in compared.groups}
    broken_down = request.GET.get("of") or None
    if broken_down not in criteria:
        broken_down = None
    context = {
        "headline": tables.headline(compared),
        "facts": run_facts.of(narrowing.scope.run),
        "sections": sections(compared, narrowing),
        "pairs_url": narrowing.address("judge-table", "pairs"),
        "groups": shown(tables.groups(compared, broken_down), narrowing),
        "after_reveal": shown(tables.after_reveal(compared), narrowing),
        "reviewers": shown(tables.reviewers(reviewer_agreement.of(narrowing.scope.run)), narrowing),
    }
    return page(request, narrowing, "judge", context)


def sections(compared: JudgeVsHuman, narrowing: Narrowing) -> list[Section]:
    """What there are reviews of. The first is drawn: blind ones, which are the ones to believe."""
    found: list[Section] = []
    for basis, population in compared.reviews:
        table = tables.section(compared, narrowing, basis, population)
        confusions = [
            confusion.of(figures, narrowing)
            for figures in compared.overall
            if (figures.basis, figures.population) == (basis, population)
        ]
        drawn_once = shown(on_paper(table) if found else table, narrowing)
        found.append(Section(drawn_once, confusions, basis == "blind", len(confusions) <= _MOST_OPEN))
    return found


@require_safe
@never_cache
@by_replica
def reasons(request: Request, run_pk: int) -> HttpResponse:
    """What each reason for asking a human is worth."""
    narrowing = load(request, run_pk)
    found = flag_precision.of(narrowing.scope)
    table = findings.reasons(found, narrowing.scope.run)
    return page(
        request, narrowing, "judge-flag-precision", {"shown": shown(table, narrowing), "rule": found.rule}
    )


@require_safe
@never_cache
@by_replica
def misses(request: Request, run_pk: int) -> HttpResponse:
    """What is wrong in records that nobody flagged."""
    narrowing = load(request, run_pk)
    found = missed_errors.of(narrowing.scope)
    context = {
        "escapes": found,
        "figures": findings.escapes(found),
        "figures_url": narrowing.address("judge-table", "misses"),
        "criteria": shown(findings.escaped_criteria(found), narrowing),
    }
    return page(request, narrowing, "judge-missed-errors", context)


@require_safe
@never_cache
@by_replica
def models(request: Request, run_pk: int) -> HttpResponse:
    """The models as the judge ranks them, and as they are when people's corrections count."""
    narrowing = load(request, run_pk)
    found = leaderboard.of(narrowing.scope)
    context = {
        "sentences": found.sentences,
        "models": shown(findings.models(found), narrowing),
        "swaps": shown(findings.swaps(found), narrowing),
    }
    return page(request, narrowing, "judge-leaderboard", context)


# CSV

_Build = Callable[[Narrowing], Table]


def _of_compared(build: Callable[[JudgeVsHuman], Table]) -> _Build:
    return lambda narrowing: build(agreement.compare(narrowing.scope))


def _of_section(basis: agreement.Basis, population: agreement.Population) -> _Build:
    return lambda narrowing: tables.section(agreement.compare(narrowing.scope), narrowing, basis, population)


# By the name in the address of a CSV file.
TABLES: dict[str, _Build] = {
    **{tables.section_name(*of): _of_section(*of) for of in tables.SECTIONS},
    "groups": _of_compared(tables.all_groups),
    "pairs": _of_compared(tables.pairs),
    "after-reveal": _of_compared(tables.after_reveal),
    "reviewers": lambda narrowing: tables.reviewers(reviewer_agreement.of(narrowing.scope.run)),
    "reasons": lambda narrowing: findings.reasons(flag_precision.of(narrowing.scope), narrowing.scope.run),
    "misses": lambda narrowing: findings.escapes_table(missed_errors.of(narrowing.scope)),
    "misses-by-criterion": lambda narrowing: findings.escaped_criteria(missed_errors.of(narrowing.scope)),
    "models": lambda narrowing: findings.models(leaderboard.of(narrowing.scope)),
    "swaps": lambda narrowing: findings.swaps(leaderboard.of(narrowing.scope)),
    "causes": lambda narrowing: findings.all_causes(error_analysis.of(narrowing.scope).templates),
}


@require_safe
@by_replica
def csv_file(request: Request, run_pk: int, table: str) -> StreamingHttpResponse:
    """A table of these pages as CSV."""
    narrowing = load(request, run_pk)
    if table not in TABLES:
        raise Http404
    return as_csv(TABLES[table](narrowing), f"{table}.csv")
