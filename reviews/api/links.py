"""The `Link` header of lists (RFC 8288), so that programs follow pages without building addresses."""

from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path


def link_next(request: HttpRequest, response: HttpResponse, cursor: str) -> str | None:
    """Link to the page with a cursor. Return the cursor for the body: None on the last page."""
    if not cursor:
        return None
    query = request.GET.copy()
    query["after"] = cursor
    response.headers["Link"] = f'<{escape_uri_path(request.path)}?{query.urlencode()}>; rel="next"'
    return cursor
