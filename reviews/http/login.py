"""Require a login for every page that is not marked `login_not_required`."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails


class LoginMiddleware(LoginRequiredMiddleware):
    """Redirect to the login page, and from there back to the page the person was on.

    A request by htmx gets 401 with `HX-Redirect`: htmx would insert the login page into the current one.
    """

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        redirect = super().process_view(request, view_func, view_args, view_kwargs)
        if redirect is None or not HtmxDetails(request):
            return redirect
        return HttpResponse(status=401, headers={"HX-Redirect": redirect["Location"]})

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        return redirect_to_login(_current_page(request), self.get_login_url(view_func))


def _current_page(request: HttpRequest) -> str:
    """Return the address of the page that sent the request, or of the run list if it is unknown."""
    if request.method in {"GET", "HEAD"} and not HtmxDetails(request):
        return request.get_full_path()
    page_url = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page_url, {request.get_host()}, require_https=request.is_secure()):
        return resolve_url("runs")
    parts = urlsplit(page_url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
