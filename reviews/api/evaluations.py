"""Lists of records by filters, and single records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpResponse, QueryDict
from ninja import P, QueryEx, Router
from pydantic import WithJsonSchema

from cognireview.types import operations
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JsonRenderer
from reviews.api.lookup import get_counted_run, get_record
from reviews.api.pagination import PAGE_SIZE, Limit, link_next
from reviews.api.preconditions import set_etag
from reviews.api.problems import Problem, invalid_field
from reviews.database.statements import prepared_statements
from reviews.models import Run
from reviews.queue import progress
from reviews.rubric.run_rubric import run_rubric
from reviews.search import indexing, listing
from reviews.search.filters import FILTERS, Filter, Filters
from reviews.search.listing import RecordList
from reviews.search.sort_orders import DEFAULT_SORT, SORTS

router = Router(tags=["records"])
Sort = QueryEx[str, P(enum=[*SORTS])]


# Filters in a body, as on the page of the run; several values as a list.
FilterValues = Annotated[
    dict[str, str | list[str]],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"enum": [*FILTERS]},
            "additionalProperties": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
            },
        }
    ),
]


def _parameter(name: str, known: Filter) -> dict[str, Any]:
    values: dict[str, Any] = {"type": "string", **({"enum": [*known.options]} if known.options else {})}
    return {
        "name": name,
        "in": "query",
        "description": f"{known.title}. Several values are joined by OR.",
        "schema": {"type": "array", "items": values},
    }


FILTER_PARAMETERS = [_parameter(name, known) for name, known in FILTERS.items()]


@operation(router, operations.RECORDS, scope="read", parameters=FILTER_PARAMETERS)
def list_records(
    request: ApiRequest,
    response: HttpResponse,
    run: str,
    *,
    sort: Sort = DEFAULT_SORT,
    after: str = "",
    limit: Limit = PAGE_SIZE,
) -> HttpResponse:
    """List records of a run, with the filters and sort orders of its page in the browser.

    `after` is `next` of the previous page. Records that you may still review blind are left out if a
    filter or the sort order would reveal the judge's verdict.
    """
    view = _parse_list(request.GET, after)
    with prepared_statements():
        found, records = get_counted_run(run, request.user)
    known = (
        listing.known_total(found, view.filters, progress.run_progress(found)) if view.filters else records
    )
    page = listing.load_page(
        found,
        view.filters,
        reader=request.user,
        sort=view.sort,
        after=after,
        known=known,
        size=limit,
        for_api=True,
    )
    rubric = run_rubric(found)
    rows = [shapes.evaluation_out(row, rubric, is_hidden=row.pk in page.hidden) for row in page.rows]
    is_complete = not view.needs_index or indexing.is_indexed(found)
    listed = {
        "evaluations": rows,
        "total": page.total if is_complete else None,
        "is_complete": is_complete,
        "next": link_next(request, response, page.after),
    }
    # Validating rows that are built here would take as long as the rest of the request.
    response.content = JsonRenderer().render(request, listed, response_status=response.status_code)
    return response


def _parse_list(query: QueryDict, after: str) -> RecordList:
    """Return the list that a query asks for. Raises `Problem`."""
    query = query.copy()
    query.pop("limit", None)  # all others are filters, or unknown
    view = RecordList.parse(query)
    if view.problems:
        raise _invalid_parameters(query, view.problems)
    if after and SORTS[view.sort].parse_cursor(after) is None:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "Invalid cursor.",
            [("after", "Use `next` of the previous page.")],
        )
    return view


def _invalid_parameters(query: QueryDict, sentences: list[str]) -> Problem:
    """Return the problem of a query, with the parameter of each sentence."""
    named = []
    for name, values in query.lists():
        alone = QueryDict(mutable=True)
        alone.setlist(name, values)
        named += [(name, sentence) for sentence in RecordList.parse(alone).problems]
    # Too many filters are a problem of all of them.
    named = named or [("filters", sentence) for sentence in sentences]
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, " ".join(sentences), named)


def read_filters(values: Mapping[str, str | list[str]]) -> Filters:
    """Read filters from a body. Raises `Problem` for invalid ones."""
    query = QueryDict(mutable=True)
    for name, given in values.items():
        query.setlist(name, [given] if isinstance(given, str) else given)
    filters = Filters.parse(query)
    if filters.problems:
        invalid = [("filters", sentence) for sentence in filters.problems]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, " ".join(filters.problems), invalid)
    return filters


def record_keys(run: Run, ids: Sequence[str]) -> tuple[int, ...]:
    """Return the keys of the records with these ids. Raises `Problem` for unknown ones."""
    wanted = [one for one in ids if "\0" not in one]
    found = dict(run.evaluations.filter(evaluation_id__in=wanted).values_list("evaluation_id", "pk"))
    if unknown := [one for one in ids if one not in found]:
        raise invalid_field("evaluation_ids", f"The run has no record {unknown[0][:200]!r}.")
    return tuple(found.values())


@operation(router, operations.RECORD, scope="read")
def read_record(request: ApiRequest, response: HttpResponse, run: str, evaluation_id: str) -> dict[str, Any]:
    """Return a record with its criteria and its current decision.

    Percent-encode the id, including its slashes. The judge's output is left out while the record is reviewed
    blind (`is_blind`).
    """
    record = get_record(run, evaluation_id, request.user)
    return set_etag(response, shapes.record_out(record, request.user))


def register_ambiguous_paths(other: Router, *endings: str) -> None:
    """Register paths of records whose ids end like the path of an operation of a router: "task/claim".

    Django looks a path up in one router only.
    """
    for ending in endings:
        _register_ending(other, ending)


def _register_ending(other: Router, ending: str) -> None:
    longer = replace(operations.RECORD, path=f"{operations.RECORD.path}/{ending}")

    @operation(other, longer, scope="read", is_in_schema=False)
    def read(request: ApiRequest, run: str, evaluation_id: str) -> dict[str, Any]:
        return shapes.record_out(get_record(run, f"{evaluation_id}/{ending}", request.user), request.user)
