"""Redirects back to the page that sent a request, and to the page above an address."""

from functools import cache
from http import HTTPStatus
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.http.response import HttpResponseRedirectBase
from django.shortcuts import resolve_url
from django.urls import URLPattern, get_resolver, is_valid_path
from django.urls.resolvers import RoutePattern
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails


class SeeOther(HttpResponseRedirectBase):
    """A redirect after a POST; the next request is a GET."""

    status_code = HTTPStatus.SEE_OTHER


def sending_page(request: HttpRequest) -> str:
    """Return the address of the page that sent the request, or of the run list if it is unknown."""
    if request.method in {"GET", "HEAD"} and not HtmxDetails(request):
        return request.get_full_path()
    page_url = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page_url, {request.get_host()}, require_https=request.is_secure()):
        return resolve_url("runs")
    parts = urlsplit(page_url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def page_above(path: str) -> str | None:
    """Return the nearest page above an address that has only pages below it, such as `/runs/`.

    Return None for any other address.
    """
    folder = f"{path.strip('/')}/"
    if not any(route.match(folder) for route in _folders()):
        return None
    above = folder
    while above:
        above = above[: above.rstrip("/").rfind("/") + 1]
        if is_valid_path(f"/{above}"):
            break
    return f"/{above}"


@cache
def _folders() -> list[RoutePattern]:
    """Return the routes of all addresses above those of pages."""
    pages = [
        str(one.pattern) for one in get_resolver("reviews.urls").url_patterns if isinstance(one, URLPattern)
    ]
    above = {page[: place + 1] for page in pages for place, letter in enumerate(page[:-1]) if letter == "/"}
    return [RoutePattern(route, is_endpoint=True) for route in sorted(above)]
