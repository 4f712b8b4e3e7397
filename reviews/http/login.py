"""Require a login for pages and, by role, a second factor."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django_htmx.middleware import HtmxDetails

from reviews.accounts import second_factors
from reviews.http.redirects import sending_page
from reviews.models import User


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
        return redirect_to_login(sending_page(request), self.get_login_url(view_func))


# The pages to set up a factor, to confirm one's identity before, and to leave.
_ALLOWED = {
    "account",
    "add-app",
    "add-passkey",
    "end-other-sessions",
    "end-session",
    "logout",
    "new-codes",
    "reauthenticate",
    "reauthenticate-by-code",
    "reauthenticate-by-passkey",
    "session",
    "signed-in",
}


class RequiredFactorMiddleware:
    """Redirect to the account page (one query, if any role must have a factor). Comes after the login."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], *_: Any
    ) -> HttpResponseBase | None:
        match = request.resolver_match
        is_allowed = (
            match is None or match.url_name in _ALLOWED or not getattr(view_func, "login_required", True)
        )
        if is_allowed or not settings.SECOND_FACTOR_ROLES or not isinstance(request.user, User):
            return None
        if not second_factors.is_missing(request.user):
            return None
        if HtmxDetails(request):
            return HttpResponse(status=401, headers={"HX-Redirect": resolve_url("account")})
        return redirect("account")
