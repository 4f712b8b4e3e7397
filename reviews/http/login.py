"""Require a login for every page that is not marked `login_not_required`."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django_htmx.middleware import HtmxDetails

from reviews.http.redirects import sending_page


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
