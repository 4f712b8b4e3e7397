"""Coming in and going out: login, the own password, and the welcome of the first admin."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.contrib.auth import login as log_in
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import LoginView, PasswordChangeView, redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse_lazy
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from reviews import audit, people
from reviews.models import User


class LoginMiddleware(LoginRequiredMiddleware):
    """Asks for a login and leads back to the page the person was on, also from a form or from htmx.

    A plain request is redirected. A request by htmx gets 401 and `HX-Redirect`: it would put the
    login page into the middle of its own page.
    """

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        login_first = super().process_view(request, view_func, view_args, view_kwargs)
        if login_first is None or not HtmxDetails(request):
            return login_first
        return HttpResponse(status=401, headers={"HX-Redirect": login_first["Location"]})

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        return redirect_to_login(_page_of(request), self.get_login_url(view_func))


def _page_of(request: HttpRequest) -> str:
    """The page a request was made from; the run list where the browser does not say."""
    if request.method in {"GET", "HEAD"} and not HtmxDetails(request):
        return request.get_full_path()
    page_url = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page_url, {request.get_host()}, require_https=request.is_secure()):
        return resolve_url("runs")
    parts = urlsplit(page_url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


# The template calls `needs_first_admin`: who finds no account here must learn where the first comes from.
login = LoginView.as_view(
    template_name="account/login.html",
    redirect_authenticated_user=True,
    extra_context={"needs_first_admin": people.needs_first_admin},
)


@method_decorator(transaction.atomic, name="form_valid")
class _PasswordView(PasswordChangeView):
    template_name = "account/password.html"
    success_url = reverse_lazy("runs")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        response = super().form_valid(form)
        audit.record("password changed", actor=form.user)
        messages.success(self.request, "Your password is changed. Other browsers of yours are logged out.")
        return response


password = _PasswordView.as_view()


class WelcomeForm(forms.Form):
    """Name and password of the first admin; `people` decides whether they are good enough."""

    username = forms.CharField(
        label="Your name",
        max_length=150,
        help_text="You log in with it, and it stands beside what you decide. Letters, digits and @ . + - _",
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
        ),
    )
    password = forms.CharField(
        strip=False,
        max_length=4096,
        help_text="At least 12 characters; a few words in a row are fine.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        strip=False,
        max_length=4096,
        label="The password again",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if {"password", "password_again"} <= values.keys() and values["password"] != values["password_again"]:
            self.add_error("password_again", "The two passwords differ.")
        return values


@login_not_required
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """The one-time page where the first admin chooses name and password, and is logged in."""
    if not constant_time_compare(token, people.welcome_token()) or not people.needs_first_admin():
        return render(request, "account/welcome_over.html", status=404)
    form = WelcomeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        user = _first_admin(form, token)
        if user:
            log_in(request, user)
            messages.success(request, f"Welcome, {user.name}. You are the admin here.")
            return redirect("runs")
    return render(request, "account/welcome.html", {"form": form}, status=422 if form.is_bound else 200)


def _first_admin(form: WelcomeForm, token: str) -> User | None:
    """The new admin; None with the reason in the form if `people` refuses."""
    name, chosen = form.cleaned_data["username"], form.cleaned_data["password"]
    try:
        return people.first_admin(username=name, password=chosen, token=token)
    except people.Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.reason)
        return None
