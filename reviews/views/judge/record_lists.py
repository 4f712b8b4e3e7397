"""The lists of records and ratings behind a figure, or of decisions that name a cause."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.database.pagination import Page, all_rows
from reviews.database.replica import yield_from_replica
from reviews.http.request import Request
from reviews.judge.drilldown import ANY_SCORE, NO_SCORE, OTHER_SCORE, RatedRecord, RatingFilter, list_ratings
from reviews.judge.scope import SCOPE_FILTERS
from reviews.models import Evaluation, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.records.scores import criterion_title, decode_score, format_score
from reviews.rubric.run_rubric import run_rubric
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.tables import RECORDS
from reviews.views.shortcuts import page_links, replica_view
from reviews.views.tables import Cell, Column, Table, as_csv, moment, record_cell, text_columns, words

#: The most rows of a page. The CSV file has all.
MOST_ROWS: Final = 200
_T = TypeVar("_T")


def render_records(
    request: Request,
    filters: JudgeFilters,
    table: Table,
    *,
    title: str,
    description: str,
    count: int,
    csv_place: str,
    back: str,
) -> HttpResponse:
    """Render a table of the first `MOST_ROWS` of `count` rows.

    The CSV file at the URL named `csv_place` takes the query of this page. `back` is the page of the figure.
    """
    run = filters.scope.run
    if count > MOST_ROWS:
        description += f" The first {MOST_ROWS} of {count:,}; the CSV file has all."
    context = {
        "run": run,
        "title": title,
        "description": description,
        "filters": filters,
        "table": table,
        **page_links("", "", ""),
        "csv_url": f"{reverse(csv_place, args=[run.pk])}?{request.GET.urlencode()}",
        "back": back,
    }
    return render(request, "judge/decisions.html", context)


def render_pages(
    request: Request,
    filters: JudgeFilters,
    find: Callable[[str], Page[_T]],
    table: Callable[[Iterable[_T]], Table],
    *,
    place: str,
    query: Mapping[str, str],
    title: str,
    description: str,
    back: str,
) -> HttpResponse:
    """Render the page of a list after the cursor `after` of the request, with links to others and a CSV file.

    `find` returns the rows after a cursor. The list has the URL named `place`, with the parameters `query`.
    """
    after = request.GET.get("after", "")
    try:
        with time_limit():
            page = find(after)
    except QueryTooSlow:
        page = None
    context = {
        "run": filters.scope.run,
        "title": title,
        "description": description,
        "filters": filters,
        "fields": [field for field in filters.fields if field.narrows],
        "kept": query.items(),
        "table": table(page.rows) if page else None,
        "csv_url": filters.address(f"{place}-csv", **query),
        **page_links(filters.address(place, **query), after, page.next_after if page else ""),
        "back": back,
    }
    return render(request, "judge/decisions.html", context)


def record_titles(keys: Collection[int], reader: User) -> dict[int, Cell]:
    """Return a cell with a link for each record that the reader may see."""
    records = Evaluation.objects.filter(in_visible_runs(reader), pk__in=keys).defer(*LARGE_COLUMNS)
    return {one.pk: record_cell(one) for one in records}


def score_text(score: Any, criterion: str) -> str:
    """Format the score of a criterion, or a verdict."""
    if score is None:
        return "none"
    return format_score(score) if criterion else str(score)


_COLUMNS = [
    *text_columns(record="Record", judge="Judge"),
    Column(
        "human",
        "Human",
        "In a blind rating, the score before the judge's scores were shown.",
        is_number=False,
    ),
    Column("final", "Submitted", "The score that this reviewer submitted.", is_number=False),
    *text_columns(cause="Cause", basis="Rating", reviewer="Reviewer", at="When"),
]

_CHANGED = {
    "": "",
    "any": "changed after the reveal",
    "to judge": "changed to the judge's score",
    "from judge": "changed from the judge's score",
}
_WORDS = {NO_SCORE: "none", ANY_SCORE: "any"}


def _read_filter(request: Request) -> RatingFilter:
    try:
        return RatingFilter.read(request.GET.dict())
    except KeyError:
        raise Http404 from None


@replica_view
def decision_list(request: Request, run_pk: int) -> HttpResponse:
    """Show the ratings with a pair of scores, or the decisions with a cause, newest first."""
    filters, wanted = load(request, run_pk), _read_filter(request)
    return render_pages(
        request,
        filters,
        lambda after: list_ratings(filters.scope, wanted, after=after),
        lambda rows: _table(list(_rows(rows, wanted))),
        place="judge-decisions",
        query=wanted.parts,
        title=_title(wanted, filters),
        description=_describe(wanted, filters),
        back=filters.address("judge-errors" if wanted.cause else "judge"),
    )


@require_safe
def decisions_csv(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the ratings of all pages as CSV."""
    filters, wanted = load(request, run_pk), _read_filter(request)
    return as_csv(_table(_all_rows(filters, wanted)), "decisions.csv")


@yield_from_replica
def _all_rows(filters: JudgeFilters, wanted: RatingFilter) -> Iterator[list[Cell]]:
    found = all_rows(lambda after: list_ratings(filters.scope, wanted, after=after))
    yield from _rows(found, wanted)


def _table(rows: Iterable[Sequence[Cell]]) -> Table:
    return Table("ratings", "Ratings", _COLUMNS, rows, "No such ratings.")


def _rows(found: Iterable[RatedRecord], wanted: RatingFilter) -> Iterator[list[Cell]]:
    for one in found:
        yield [
            record_cell(one.evaluation),
            *(words(score_text(score, wanted.criterion)) for score in (one.judge, one.human, one.final)),
            words(_cause(one, wanted)),
            words(one.basis),
            words(one.reviewer.name),
            moment(one.at),
        ]


def _cause(one: RatedRecord, wanted: RatingFilter) -> str:
    if wanted.criterion:
        return str(one.causes.get(wanted.criterion, ""))
    return ", ".join(f"{criterion_title(name)}: {cause}" for name, cause in one.causes.items())


def _title(wanted: RatingFilter, filters: JudgeFilters) -> str:
    """Describe the ratings in a few words."""
    if wanted.cause:
        cause = run_rubric(filters.scope.run).cause(wanted.cause)
        return f"Cause: {cause.title.lower() if cause else wanted.cause}"
    scores = {"judge": wanted.judge_said, "human": wanted.human_said}
    if wanted.human_said == OTHER_SCORE:
        differs = "the reviewer differs from the judge"
        is_any = wanted.judge_said in {"", ANY_SCORE}
        parts = [differs if is_any else f"{differs}'s {_score_title(wanted.judge_said, wanted)}"]
    else:
        parts = [f"{who} {_score_title(score, wanted)}" for who, score in scores.items() if score]
    parts += filter(None, [_CHANGED[wanted.changed], "several reviewers" if wanted.shared else ""])
    parts += ["sent to a lead"] if wanted.escalated else []
    subject = criterion_title(wanted.criterion) if wanted.criterion else "Verdict"
    return f"{subject}: {', '.join(parts)}" if parts else f"{subject}: all ratings"


def _score_title(score: str, wanted: RatingFilter) -> str:
    if score in _WORDS:
        return _WORDS[score]
    return format_score(decode_score(score)) if wanted.criterion else score


def _describe(wanted: RatingFilter, filters: JudgeFilters) -> str:
    """Describe the filters in a sentence."""
    part = RECORDS[wanted.part] if wanted.part else "records"
    what = "decisions" if wanted.cause else "ratings"
    basis = f"{wanted.basis} {what}".strip().capitalize()
    about = f", about {criterion_title(wanted.criterion)}" if wanted.cause and wanted.criterion else ""
    only = "".join(f", {SCOPE_FILTERS[name].lower()} {value}" for name, value in filters.chosen.items())
    left_out = "" if wanted.cause else " Ratings of records in the queue are counted, but not listed."
    reason = f" with the flag reason “{wanted.reason}”" if wanted.reason else ""
    return f"{basis} of {part}{reason}{about}{only}.{left_out}"
