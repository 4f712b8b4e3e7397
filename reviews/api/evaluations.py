"""Records: lists of a run by the filters of its page, and one whole."""

from http import HTTPStatus
from typing import Any

from ninja import P, QueryEx, Router

from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.lookup import get_record, get_run
from reviews.api.problems import Problem
from reviews.models import Run
from reviews.queue import progress
from reviews.search import indexing, listing
from reviews.search.filters import FILTERS, Filter, Filters
from reviews.search.listing import DEFAULT_SORT, SORTS, RecordList

router = Router(tags=["evaluations"])
Sort = QueryEx[str, P(enum=[*SORTS])]


def _parameter(name: str, known: Filter) -> dict[str, Any]:
    values: dict[str, Any] = {"type": "string", **({"enum": [*known.options]} if known.options else {})}
    return {
        "name": name,
        "in": "query",
        "description": f"{known.title}. Several mean any of them.",
        "schema": {"type": "array", "items": values},
    }


FILTER_PARAMETERS = [_parameter(name, known) for name, known in FILTERS.items()]


@operation(
    router,
    "GET",
    "/evaluations",
    scope="read",
    response=shapes.EvaluationsOut,
    problems=(404,),
    parameters=FILTER_PARAMETERS,
)
def evaluations(request: ApiRequest, run: str, sort: Sort = DEFAULT_SORT, after: str = "") -> dict[str, Any]:
    """A page of 50 records of a run, by the filters and orders of its page in the browser.

    `after` is the `next` of the page before. Records that you may still review blind are left out where a
    filter or the order would reveal the judge's verdict.
    """
    query = request.GET.copy()
    query.pop("run")
    view = RecordList.parse(query)
    if view.problems:
        raise filter_problem(view.problems)
    if after and SORTS[view.sort].parse_cursor(after) is None:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "That is the place of no page.", [("after", "no place")]
        )
    found = get_run(run)
    known = _known(found, view.filters)
    page = listing.load_page(
        found, view.filters, reader=request.user, sort=view.sort, after=after, known=known
    )
    rows = []
    for row in page.rows:
        row.run = found
        rows.append(shapes.evaluation_out(row, is_hidden=row.pk in page.hidden))
    is_complete = not view.filters.needs_index or indexing.is_indexed(found)
    return {
        "evaluations": rows,
        "total": page.total if is_complete else None,
        "is_complete": is_complete,
        "next": page.after or None,
    }


def _known(run: Run, filters: Filters) -> int | None:
    """How many records there are, where that is counted already."""
    return None if filters else progress.run_progress(run).total


def filter_problem(sentences: list[str] | tuple[str, ...]) -> Problem:
    """The problem of filters that are none."""
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        " ".join(sentences),
        [("filters", sentence) for sentence in sentences],
    )


@operation(
    router,
    "GET",
    "/evaluations/{path:evaluation_id}",
    scope="read",
    response=shapes.RecordOut,
    problems=(404,),
)
def evaluation(request: ApiRequest, evaluation_id: str, run: str) -> dict[str, Any]:
    """One record with its criteria and the decision in force.

    Of a record that is to be scored blind (`is_blind`) it tells nothing of what the judge said.
    """
    return shapes.record_out(get_record(run, evaluation_id), request.user)
