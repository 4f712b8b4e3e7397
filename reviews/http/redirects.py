"""Redirects back to the page that sent a request."""

from http import HTTPStatus
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.http.response import HttpResponseRedirectBase
from django.shortcuts import resolve_url
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
