"""Logging in with an OpenID Connect provider: accounts and roles follow what it says at each login."""

from typing import Any, cast

from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from requests import RequestException

from reviews.accounts import people
from reviews.accounts.permissions import ROLES
from reviews.audit import events
from reviews.http.errors import error_page
from reviews.models import User

_NO_ROLE = (
    "You are logged in there, but no group of yours has access to CogniReview. "
    "Ask whoever runs the accounts of your organisation."
)


class _Protocol(OpenIDConnectOAuth2Adapter):
    """allauth's, but the signature of the ID token is always checked, and both answers are of one person."""

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **options: Any) -> SocialLogin:
        login: SocialLogin = super().complete_login(request, app, token, **options)
        told = login.account.extra_data
        if "id_token" not in told or told["userinfo"].get("sub") != told["id_token"].get("sub"):
            raise OAuth2Error("The ID token and the user info are not of the same person.")
        return login

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        try:
            decoded: dict[str, Any] = jwtkit.verify_and_decode(
                credential=id_token,
                keys_url=self.openid_config["jwks_uri"],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        except KeyError as missing:
            raise OAuth2Error(f"The ID token, or the provider's keys, lack {missing}.") from missing
        return decoded


@login_not_required
@never_cache
@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider."""
    try:
        return _answer(OAuth2LoginView, request, provider_id)
    except (RequestException, KeyError):
        return _failed(request)


@login_not_required
@never_cache
@require_safe
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the provider sends the browser back to."""
    return _answer(OAuth2CallbackView, request, provider_id)


def _answer(view: Any, request: HttpRequest, provider_id: str) -> HttpResponse:
    try:
        response: HttpResponse = view.adapter_view(_Protocol(request, provider_id))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return response


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Accounts come from `people`; an account that has the same name here is never taken over."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    @transaction.atomic
    def _follow(self, request: HttpRequest, login: SocialLogin, role: str) -> None:
        if login.is_existing:
            people.set_role_from_provider(person=cast("User", login.user), role=role)
        elif role:
            login.connect(request, _add(login, role))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = _claims(sociallogin)
        role = _role(claims)
        try:
            self._follow(request, sociallogin, role)
        except people.AccountError as refused:
            sentence = f"{refused.reason} Ask an admin."
            if refused.field == "username":
                sentence = (
                    f"{settings.OIDC_NAME} gave us the username {_username(claims)[:150]!r}. {sentence}"
                )
            raise ImmediateHttpResponse(error_page(request, 403, "No account for you", sentence)) from None
        if not role:
            name = str(claims.get("preferred_username", ""))[:150]
            with transaction.atomic():
                events.record("login refused", actor=None, provider_name=name, why="no group with a role")
            raise ImmediateHttpResponse(error_page(request, 403, "No access", _NO_ROLE))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        if error == AuthError.CANCELLED:
            get_account_adapter().add_message(request, messages.INFO, message="You did not log in.")
            raise ImmediateHttpResponse(redirect("login"))
        # Without a state nobody began a login here: such an address can be called as often as one likes.
        if extra_context and extra_context.get("state"):
            with transaction.atomic():
                events.record("login failed", actor=None, username=None, by="provider")
        raise ImmediateHttpResponse(_failed(request))


def _failed(request: HttpRequest) -> HttpResponse:
    sentence = f"We did not learn from {settings.OIDC_NAME} who you are. Go to the login page and try again."
    return error_page(request, 401, "This login did not work", sentence)


def _claims(login: SocialLogin) -> dict[str, Any]:
    """What the provider says of a person: in the ID token, and in the user info where they differ."""
    told = login.account.extra_data
    return {**told["id_token"], **told["userinfo"]}


def _username(claims: dict[str, Any]) -> str:
    return str(claims.get("preferred_username") or claims["sub"])


def _role(claims: dict[str, Any]) -> str:
    """The highest role that the groups of a person give, or an empty string."""
    groups = claims.get(settings.OIDC_GROUP_CLAIM) or []
    names = [groups] if isinstance(groups, str) else groups
    given = {settings.OIDC_ROLES.get(name) for name in names if isinstance(name, str)}
    return next((role for role in reversed(ROLES) if role in given), "")


def _add(login: SocialLogin, role: str) -> User:
    claims = _claims(login)
    columns = {"email": "email", "first_name": "given_name", "last_name": "family_name"}
    return people.add_user(
        username=_username(claims),
        password=None,
        role=role,
        actor=None,
        columns={column: str(claims.get(claim) or "") for column, claim in columns.items()},
        by="provider",
    )
