"""Divide lists into pages. The `Link` header (RFC 8288) has the next page: programs build no addresses."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path
from ninja import P, QueryEx

from reviews.database.pagination import ModelRow, page_by_key

# The size of a page.
Limit = QueryEx[int, P(ge=1, le=200, description="The largest number of rows to return.")]
# The same for lists that are short.
OptionalLimit = QueryEx[
    int | None, P(ge=1, le=200, description="The largest number of rows to return. Without it, all of them.")
]
# The cursor of lists without one in their body.
After = QueryEx[
    int,
    P(ge=0, lt=2**63, description="The beginning of a page. The `Link` header of the previous page has it."),
]
PAGE_SIZE = 50
# The size of a page without a cursor in the body.
LIST_SIZE = 100


def link_next(request: HttpRequest, response: HttpResponse, cursor: str) -> str | None:
    """Link to the page with a cursor. Return the cursor for the body: None on the last page."""
    if not cursor:
        return None
    link(request, response, after=cursor)
    return cursor


def list_by_key(
    request: HttpRequest,
    response: HttpResponse,
    rows: QuerySet[ModelRow],
    *,
    after: int,
    limit: int,
    newest_first: bool = True,
) -> list[ModelRow]:
    """Load a page of rows by primary key, and link to the next one."""
    page = page_by_key(rows, after=str(after) if after else "", size=limit, newest_first=newest_first)
    link_next(request, response, page.next_after)
    return page.rows


def link(request: HttpRequest, response: HttpResponse, **changes: Any) -> None:
    """Link to the next page, whose query differs in these parameters."""
    query = request.GET.copy()
    for name, value in changes.items():
        query[name] = str(value)
    response.headers["Link"] = f'<{escape_uri_path(request.path)}?{query.urlencode()}>; rel="next"'
