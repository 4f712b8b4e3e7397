"""List the decisions behind a count of the judge's accuracy."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.database.pagination import all_rows
from reviews.database.replica import yield_from_replica
from reviews.http.request import Request
from reviews.judge.drilldown import ANY_SCORE, NO_SCORE, OTHER_SCORE, DecisionFilter, list_decisions
from reviews.judge.scope import FILTERS
from reviews.models import Review
from reviews.records.scores import criterion_title, decode_score, format_score, score_of
from reviews.rubric.run_rubric import run_rubric
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.access import replica_page
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.overview import load
from reviews.views.judge.tables import RECORDS
from reviews.views.tables import Cell, Column, Table, as_csv, moment, text_columns, words

_COLUMNS = [
    *text_columns(record="Record", judge="Judge"),
    Column(
        "human",
        "Human",
        "In a blind review, the score before the judge's scores were shown.",
        is_number=False,
    ),
    Column("final", "Current", "The score in the exported file.", is_number=False),
    *text_columns(cause="Cause", basis="Review", reviewer="Reviewer", at="When"),
]

_WORDS = {NO_SCORE: "none", ANY_SCORE: "any", OTHER_SCORE: "another"}


def _read_filter(request: Request) -> DecisionFilter:
    try:
        return DecisionFilter.read(request.GET.dict())
    except KeyError:
        raise Http404 from None


@replica_page
def decision_list(request: Request, run_pk: int) -> HttpResponse:
    """Show the current decisions with a pair of scores or with a cause, newest first."""
    filters, wanted = load(request, run_pk), _read_filter(request)
    after = request.GET.get("after", "")
    try:
        with time_limit():
            page = list_decisions(filters.scope, wanted, after=after)
    except QueryTooSlow:
        page = None
    more = wanted.parts
    next_after = page.next_after if page else ""
    context = {
        "run": filters.scope.run,
        "title": _title(wanted, filters),
        "description": _describe(wanted, filters),
        "filters": filters,
        "fields": [field for field in filters.fields if field.narrows],
        "idle": [],
        "kept": more.items(),
        "table": _table(list(_rows(page.rows, wanted))) if page else None,
        "csv_url": filters.address("judge-decisions-csv", **more),
        "first": filters.address("judge-decisions", **more) if after else "",
        "next": filters.address("judge-decisions", **more, after=next_after) if next_after else "",
        "back": filters.address("judge-error-analysis" if wanted.cause else "judge"),
    }
    return render(request, "judge/decisions.html", context)


@require_safe
def decisions_csv(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the decisions of all pages as CSV."""
    filters, wanted = load(request, run_pk), _read_filter(request)
    return as_csv(_table(_all_rows(filters, wanted)), "decisions.csv")


@yield_from_replica
def _all_rows(filters: JudgeFilters, wanted: DecisionFilter) -> Iterator[list[Cell]]:
    found = all_rows(lambda after: list_decisions(filters.scope, wanted, after=after))
    yield from _rows(found, wanted)


def _table(rows: Iterable[Sequence[Cell]]) -> Table:
    return Table("decisions", "Decisions", _COLUMNS, rows, "No such decisions.")


def _rows(reviews: Iterable[Review], wanted: DecisionFilter) -> Iterator[list[Cell]]:
    for review in reviews:
        judge, human, final = _scores(review, wanted.criterion)
        yield [
            words(review.evaluation.title, url=reverse("evaluation", args=[review.evaluation_id])),
            words(judge),
            words(human),
            words(final),
            words(_cause(review, wanted)),
            words("assisted" if review.blind_scores is None else "blind"),
            words(review.reviewer.name),
            moment(review.submitted_at),
        ]


def _scores(review: Review, criterion: str) -> tuple[str, str, str]:
    """Return the judge's, the human's and the final score of a criterion, or the verdicts."""
    is_blind = review.blind_scores is not None
    if not criterion:
        human = review.blind_verdict if is_blind else review.verdict
        return review.judged_verdict or "none", human or "none", review.verdict or "none"
    final = _score_text(score_of((review.corrected_scores or {}).get(criterion)))
    human = _score_text((review.blind_scores or {}).get(criterion)) if is_blind else final
    return _score_text((review.judged or {}).get(criterion)), human, final


def _score_text(score: Any) -> str:
    return "none" if score is None else format_score(score)


def _cause(review: Review, wanted: DecisionFilter) -> str:
    if wanted.criterion:
        return str(review.causes.get(wanted.criterion, ""))
    return ", ".join(f"{criterion_title(name)}: {cause}" for name, cause in review.causes.items())


def _title(wanted: DecisionFilter, filters: JudgeFilters) -> str:
    """Describe the decisions in a few words."""
    if wanted.cause:
        cause = run_rubric(filters.scope.run).cause(wanted.cause)
        return f"Cause: {cause.title.lower() if cause else wanted.cause}"
    scores = {"judge": wanted.judge_said, "human": wanted.human_said}
    parts = [f"{who} {_score_title(score, wanted)}" for who, score in scores.items() if score]
    subject = criterion_title(wanted.criterion) if wanted.criterion else "Verdict"
    return f"{subject}: {', '.join(parts)}" if parts else f"{subject}: all decisions"


def _score_title(score: str, wanted: DecisionFilter) -> str:
    if score in _WORDS:
        return _WORDS[score]
    return format_score(decode_score(score)) if wanted.criterion else score


def _describe(wanted: DecisionFilter, filters: JudgeFilters) -> str:
    """Describe the filters in a sentence."""
    drawn = RECORDS[wanted.drawn] if wanted.drawn else "records"
    seen = f"{wanted.seen.capitalize()} reviews" if wanted.seen else "Reviews"
    about = f", about {criterion_title(wanted.criterion)}" if wanted.cause and wanted.criterion else ""
    only = "".join(f", {FILTERS[name].lower()} {value}" for name, value in filters.chosen.items())
    return f"{seen} of {drawn}{about}{only}. Only current decisions."
