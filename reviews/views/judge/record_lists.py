"""The lists of records behind a figure."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from reviews.database.pagination import Page
from reviews.http.request import Request
from reviews.models import Evaluation, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.records.scores import format_score
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.judge.filters import JudgeFilters
from reviews.views.parts import page_links
from reviews.views.tables import Cell, Table, record_cell

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
