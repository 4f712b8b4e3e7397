"""The lists of records behind a figure that compares two sides."""

from collections.abc import Collection
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from reviews.http.request import Request
from reviews.models import Evaluation, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.records.scores import format_score
from reviews.views.judge.filters import JudgeFilters
from reviews.views.tables import Cell, Table

#: The most rows of a page. The CSV file has all.
MOST_ROWS: Final = 200


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
        "csv_url": f"{reverse(csv_place, args=[run.pk])}?{request.GET.urlencode()}",
        "back": back,
    }
    return render(request, "judge/decisions.html", context)


def record_titles(keys: Collection[int], reader: User) -> dict[int, Cell]:
    """Return a cell with a link for each record that the reader may see."""
    records = Evaluation.objects.filter(in_visible_runs(reader), pk__in=keys).defer(*LARGE_COLUMNS)
    return {one.pk: record_cell(one) for one in records}


def record_cell(record: Evaluation) -> Cell:
    """Return a cell with the title of a record, its link, and its evaluation_id for a CSV file."""
    return Cell(record.title, record.evaluation_id, reverse("evaluation", args=[record.pk]))


def score_text(score: Any, criterion: str) -> str:
    """Format the score of a criterion, or a verdict."""
    if score is None:
        return "none"
    return format_score(score) if criterion else str(score)
