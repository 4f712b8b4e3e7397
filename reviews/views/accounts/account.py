"""Login, also by a provider, logout, the account page with sessions and password, and the setup link."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from allauth.account.utils import perform_login
from allauth.account.views import LoginView
from allauth.decorators import rate_limit
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from csp.decorators import csp_update
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView, redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from reviews.accounts import api_tokens, people, second_factors, sessions
from reviews.accounts.adapters import ProviderLoginFailed
from reviews.accounts.permissions import Denied
from reviews.audit import events
from reviews.http.errors import error_page
from reviews.http.request import Request
from reviews.models import User, usernames
from reviews.records.wording import counted
from reviews.views.form_fields import refusal_in
from reviews.views.shortcuts import form_page, render_form

HELP_WITH_CHOOSING = "At least 12 characters. Several words in a row are fine."


class LoginForm(allauth_forms.LoginForm):
    """allauth's form with our attributes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.help_text = ""
            field.widget.attrs.pop("placeholder", None)
        self.fields["login"].widget.attrs["autocapitalize"] = "none"
        # After an error, only the password is to be typed again.
        self.fields["password" if self.is_bound else "login"].widget.attrs["autofocus"] = True


class _LoginView(LoginView):
    template_name = "accounts/account/login.html"

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**values)
        return context | {
            # The page then explains the setup link.
            "needs_first_admin": people.needs_first_admin(),
            "provider_name": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        }


def _origin(url: str) -> list[str]:
    parts = urlsplit(url)
    return [f"{parts.scheme}://{parts.netloc}"] if url else []


@login_not_required
@require_http_methods(["GET", "POST"])
def login(request: HttpRequest) -> HttpResponseBase:
    """Show the login page. Browsers apply `form-action` to redirects, too, so it must allow the provider."""
    widened = csp_update({"form-action": _origin(settings.OIDC_ISSUER)})
    return widened(_LoginView.as_view())(request)


@login_not_required
@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Sign out, or cancel a login that is waiting for its second factor.

    `next` is the page to open after another login.
    """
    if request.user.is_authenticated:
        get_adapter().logout(request)
    else:
        request.session.flush()
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        return redirect_to_login(target)
    return redirect("login")


@login_not_required
@require_safe
def session(request: HttpRequest) -> JsonResponse:
    """Return who is signed in, and a CSRF token for that person's forms: `{"person": pk, "name", "token"}`.

    Without a login, `person` is null. An open review page requests this after its session has ended.
    """
    if not isinstance(request.user, User):
        return JsonResponse({"person": None, "name": "", "token": ""})
    return JsonResponse({"person": request.user.pk, "name": request.user.name, "token": get_token(request)})


@require_safe
def signed_in(request: Request) -> HttpResponse:
    """Show that a login for an open review page succeeded. `?as=` is the primary key of the page's person."""
    expected = request.GET.get("as", "")
    context = {"is_other_person": expected not in {"", str(request.user.pk)}}
    return render(request, "accounts/account/signed_in.html", context)


@require_safe
def account(request: Request) -> HttpResponse:
    """Show the login methods, active sessions and API tokens of the person."""
    factors = list(Authenticator.objects.filter(user=request.user).order_by("created_at"))
    by_type = {factor.type: factor.wrap() for factor in factors}
    codes = by_type.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "needs_second_factor": second_factors.is_missing(request.user),
        "has_password": request.user.has_usable_password(),
        "has_app": Authenticator.Type.TOTP in by_type,
        "passkeys": [factor.wrap() for factor in factors if factor.type == Authenticator.Type.WEBAUTHN],
        "codes_left": None if codes is None else len(codes.get_unused_codes()),
        "sessions": sessions.active_sessions(request.user, request.session.session_key),
        "tokens": api_tokens.valid_tokens(request.user),
    }
    return render(request, "accounts/account/page.html", context)


@require_POST
def end_session(request: Request, pk: int) -> HttpResponse:
    try:
        sessions.end(user=request.user, session_id=pk)
    except UserSession.DoesNotExist:
        raise Http404 from None
    messages.success(request, "Session ended.")
    return redirect("account")


@require_POST
def end_other_sessions(request: Request) -> HttpResponse:
    ended = sessions.end_others(user=request.user, current_key=request.session.session_key)
    messages.success(request, f"{counted(ended, 'other session')} ended.")
    return redirect("account")


class _PasswordChangeForm(PasswordChangeForm):
    """Django's form in our words, with an option to revoke the API tokens of the account."""

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(user, *args, **options)
        self.fields["new_password1"].help_text = HELP_WITH_CHOOSING
        self.fields["new_password2"].label = "Repeat the new password"
        self.fields["new_password2"].help_text = ""
        if tokens := api_tokens.valid_tokens(user).count():
            label = "Also revoke my API token" if tokens == 1 else f"Also revoke my {tokens} API tokens"
            help_text = "Programs that use them stop working until they have new tokens."
            self.fields["revoke_tokens"] = forms.BooleanField(
                label=label, required=False, initial=True, help_text=help_text
            )


# Somebody with a stolen session must not be able to guess the password.
@method_decorator(rate_limit(action="change_password"), name="dispatch")  # type: ignore[no-untyped-call]
@method_decorator(transaction.atomic, name="form_valid")
class _PasswordView(PasswordChangeView):
    template_name = "accounts/account/password.html"
    form_class = _PasswordChangeForm
    success_url = reverse_lazy("account")

    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        if not cast("User", request.user).has_usable_password():
            raise Denied("You sign in with another provider, which manages your password.")
        return super().dispatch(request, *args, **options)

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        response = super().form_valid(form)
        sessions.keep_only_current(form.user, self.request)
        revoked = 0
        if form.cleaned_data.get("revoke_tokens"):
            revoked = api_tokens.revoke_all(person=form.user, actor=form.user)
        events.record("password changed", actor=form.user, tokens=revoked)
        sentence = "Password changed. Your other sessions ended"
        if revoked:
            sentence += f", and {counted(revoked, 'API token was', 'API tokens were')} revoked"
        messages.success(self.request, f"{sentence}.")
        return response


password = require_http_methods(["GET", "POST"])(_PasswordView.as_view())


class PasswordForm(forms.Form):
    """A new password, entered twice. `people` checks its strength."""

    password = forms.CharField(
        strip=False,
        max_length=4096,
        help_text=HELP_WITH_CHOOSING,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        strip=False,
        max_length=4096,
        label="Repeat the password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if {"password", "password_again"} <= values.keys() and values["password"] != values["password_again"]:
            self.add_error("password_again", "The passwords do not match.")
        # With the other errors: the account is only added once the form is valid.
        for field, reason in people.find_faults(
            username=values.get("username"), password=values.get("password")
        ):
            self.add_error(field, reason)
        return values


class NewAccountForm(PasswordForm):
    username = forms.CharField(
        label="Username",
        max_length=usernames.LONGEST,
        help_text="Used to sign in and shown on your decisions. Cannot be changed later. "
        "Letters from a to z, digits and @ . + - _",
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
        ),
    )
    field_order = ("username", "password", "password_again")


@login_not_required
@sensitive_post_parameters("password", "password_again")
@form_page
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of the setup link, where the first admin chooses username and password."""
    if not constant_time_compare(token, people.welcome_token()) or not people.needs_first_admin():
        return render(request, "accounts/account/welcome_over.html", status=404)
    add = partial(people.create_first_admin, token=token)
    return create_account(request, add, "accounts/account/welcome.html", "You are the admin of this site.")


def create_account(
    request: HttpRequest, add: Callable[..., User], template: str, greeting: str = "", **context: Any
) -> HttpResponse:
    """Show the form for a new account. Once it is valid, call `add` and log the person in."""
    form = NewAccountForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_in(form, people.AccountError):
            user = add(username=form.cleaned_data["username"], password=form.cleaned_data["password"])
            response: HttpResponse = perform_login(request, user)
            messages.success(request, f"Welcome, {user.name}. {greeting}".strip())
            return response
    return render_form(request, template, form, **context)


@login_not_required
@require_POST
def begin_single_sign_on(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect the browser to the provider."""
    return _step("begin", request, provider_id)


@login_not_required
@require_safe
def finish_single_sign_on(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Finish the login: the provider redirects the browser to this address."""
    return _step("finish", request, provider_id)


def _step(name: str, request: HttpRequest, provider_id: str) -> HttpResponse:
    step = getattr(import_module("reviews.accounts.openid_connect"), name)
    try:
        response: HttpResponse = step(request, provider_id)
    except ProviderLoginFailed:
        sentence = f"{settings.OIDC_NAME} did not confirm who you are. Go to the login page and try again."
        return error_page(request, 401, "Login failed", sentence)
    return response
