"""Second factors: manage authenticator app, passkeys and recovery codes, and require one at a login."""

import json
import struct
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from allauth.account.views import ReauthenticateView
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.base.internal.flows import check_rate_limit
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.base.views import ReauthenticateView as ReauthenticateByCodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.internal.auth import parse_authentication_response, parse_registration_response
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    LoginWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from csp.decorators import csp_update
from django.core.exceptions import BadRequest, ValidationError
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views import View
from django.views.decorators.http import require_http_methods, require_POST

from reviews.accounts import second_factors
from reviews.audit import events
from reviews.http.request import Request
from reviews.models import User


class _Recorded(View):
    """Mixin for allauth's views that change something: record an audit event and return to the account."""

    action: str
    did_generate_recovery_codes = False

    def get_success_url(self) -> str:
        return reverse("account")

    @transaction.atomic
    def form_valid(self, form: BaseForm) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        events.record(self.action, actor=cast("User", self.request.user))
        return _show_codes(self.request) if self.did_generate_recovery_codes else response


class _AddApp(_Recorded, ActivateTOTPView):
    template_name = "accounts/second_factor/app.html"
    action = "authenticator app added"

    @transaction.atomic
    def form_valid(self, form: BaseForm) -> HttpResponse:
        user = cast("User", self.request.user)
        # The second of two concurrent requests waits here, and then finds the app of the first.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists():
            return redirect("account")
        response = super().form_valid(form)
        second_factors.use_activation_code(user, form.cleaned_data["code"])
        return response


class _RemoveApp(_Recorded, DeactivateTOTPView):
    action = "authenticator app removed"


class _Options(View):
    """Mixin: put the WebAuthn options of the browser into the page as JSON."""

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**values)  # type: ignore[misc]
        [options] = context["js_data"].values()
        return context | {"options": json.dumps(options)}


class _AddPasskey(_Options, _Recorded, AddWebAuthnView):
    template_name = "accounts/second_factor/passkey.html"
    action = "passkey added"


class _RemovePasskey(_Recorded, RemoveWebAuthnView):
    action = "passkey removed"


class _NewCodes(_Recorded, GenerateRecoveryCodesView):
    action = "recovery codes made"
    did_generate_recovery_codes = True


_AnyView = Callable[..., HttpResponseBase]


def _with_passkey(view: _AnyView, parse: Callable[[Any], object]) -> _AnyView:
    """Return 400 for malformed passkey data, which would cause a server error in allauth's forms."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        try:
            if sent := json.loads(request.POST.get("credential") or "null"):
                parse(sent)
        except (json.JSONDecodeError, ValidationError):
            pass  # the form reports it
        except (ValueError, LookupError, AttributeError, RecursionError, struct.error) as error:
            raise BadRequest from error
        return view(request, *args, **options)

    return checked


# allauth's views accept any method, and treat all but GET as an attempt.
_form = require_http_methods(["GET", "POST"])
# The QR code is a `data:` image.
add_app = _form(csp_update({"img-src": ["data:"]})(_AddApp.as_view()))
remove_app = require_POST(_RemoveApp.as_view())
add_passkey = _form(_with_passkey(_AddPasskey.as_view(), parse_registration_response))
new_codes = require_POST(_NewCodes.as_view())


@require_POST
def remove_passkey(request: Request, pk: int) -> HttpResponseBase:
    get_object_or_404(Authenticator, user=request.user, type=Authenticator.Type.WEBAUTHN, pk=pk)
    return _RemovePasskey.as_view()(request, pk=pk)


def _show_codes(request: HttpRequest) -> HttpResponse:
    """Show new recovery codes. They are never shown again."""
    made = Authenticator.objects.get(user=request.user, type=Authenticator.Type.RECOVERY_CODES)
    return render(request, "accounts/second_factor/codes.html", {"codes": made.wrap().get_unused_codes()})


def _was_wrong(form: BaseForm) -> bool:
    """Return whether the form failed for a wrong code or passkey, and not as empty or rate-limited."""
    return any(
        error.code == "incorrect_code" for errors in form.errors.as_data().values() for error in errors
    )


class _UsedOnce(BaseAuthenticateForm):
    """A form that accepts each code once. allauth would accept it again while it is valid."""

    def clean_code(self) -> str:
        clear_limit = check_rate_limit(self.user)
        code: str = self.cleaned_data["code"]
        factor = second_factors.use_code(self.user, code)
        if factor is None and second_factors.is_unreadable(self.user):
            raise ValidationError(second_factors.UNREADABLE, code="unreadable")
        if factor is None:
            raise get_adapter().validation_error("incorrect_code")
        factor.user = self.user
        self.authenticator = factor
        clear_limit()
        return code


class CodeForm(_UsedOnce, AuthenticateForm):
    """The form for a code at a login."""


class CodeAgainForm(_UsedOnce, ReauthenticateForm):
    """The form for a code before a sensitive change."""


class _Authenticate(_Options, AuthenticateView):
    """The step after the password, for people with a second factor."""

    template_name = "accounts/second_factor/authenticate.html"

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context = super().get_context_data(**values)
        owned = Authenticator.objects.filter(user=self.stage.login.user)
        return context | {"has_passkey": owned.filter(type=Authenticator.Type.WEBAUTHN).exists()}

    def form_invalid(self, form: BaseForm) -> HttpResponse:
        if _was_wrong(form):
            with transaction.atomic():
                events.record("second factor failed", actor=None, username=self.stage.login.user.username)
        response: HttpResponse = super().form_invalid(form)
        return response


class _LogInByPasskey(LoginWebAuthnView):
    def form_invalid(self, form: BaseForm) -> HttpResponse:
        if _was_wrong(form):
            with transaction.atomic():
                events.record("login failed", actor=None, username=None, by="passkey")
        response: HttpResponse = super().form_invalid(form)
        return response


authenticate = _form(_with_passkey(_Authenticate.as_view(), parse_authentication_response))
log_in_by_passkey = _form(_with_passkey(_LogInByPasskey.as_view(), parse_authentication_response))


_REAUTHENTICATE = "accounts/account/reauthenticate.html"


class _Reauthenticate(View):
    """Mixin: ask a logged-in person to confirm their identity before a sensitive change."""

    kind: str

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**values)  # type: ignore[misc]
        return context | {"kind": self.kind}


class _ReauthenticateByPassword(_Reauthenticate, ReauthenticateView):
    template_name = _REAUTHENTICATE
    kind = "password"


class _ReauthenticateByCode(_Reauthenticate, ReauthenticateByCodeView):
    template_name = _REAUTHENTICATE
    kind = "code"


class _ReauthenticateByPasskey(_Options, _Reauthenticate, ReauthenticateWebAuthnView):
    template_name = _REAUTHENTICATE
    kind = "passkey"

    def form_invalid(self, form: BaseForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form))


reauthenticate = _form(_ReauthenticateByPassword.as_view())
reauthenticate_by_code = _form(_ReauthenticateByCode.as_view())
reauthenticate_by_passkey = _form(
    _with_passkey(_ReauthenticateByPasskey.as_view(), parse_authentication_response)
)
