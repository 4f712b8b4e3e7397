"""allauth's adapters: audit events of logins, encrypted second factors, and roles from the provider."""

import base64
import secrets
from datetime import UTC, datetime
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from reviews.accounts import people, second_factors, sessions
from reviews.accounts.encryption import cipher
from reviews.accounts.permissions import ROLES, Denied
from reviews.audit import events
from reviews.models import User

_LIMIT: dict[str, Any] = {"app": "allauth.account", "action": "login_failed"}
_NO_ROLE = (
    "None of your groups has access to CogniReview. Ask the person who manages your organisation's accounts."
)


class AccountAdapter(DefaultAccountAdapter):
    """Record logins, logouts and failed logins as audit events. Nobody can sign up without an invitation."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "Incorrect username or password.",
        "incorrect_password": "Incorrect password.",
        # The window of the limit for one account (see ACCOUNT_RATE_LIMITS).
        "too_many_login_attempts": "Too many failed attempts. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def add_message(self, request: HttpRequest, level: int, *_: Any, **options: Any) -> None:
        """Drop the messages of allauth's templates: the pages already say the same."""
        if options.get("message"):
            super().add_message(request, level, message=options["message"])

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            until = self._locked_until(request, credentials) or timezone.now()
            raise ValidationError(
                f"Too many failed logins. Try again at {until:%H:%M} UTC.", code="too_many_login_attempts"
            ) from None

    @transaction.atomic
    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        # Record only existing names: some people type their password into this field.
        known = User.objects.filter(username__iexact=credentials.get("username", "")).first()
        username = known.username if known else None
        events.record("login failed", actor=None, username=username)
        if until := self._locked_until(request, credentials):
            events.record("login locked", actor=None, username=username, until=until.isoformat())

    @transaction.atomic
    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **options: Any) -> HttpResponse:
        response = super().post_login(request, user, **options)
        records = get_authentication_records(request, user)
        means = [record.get("type") or record["method"] for record in records]
        events.record("login", actor=cast("User", user), by=means)
        return response

    def logout(self, request: HttpRequest) -> None:
        sessions.record_logout(user=cast("User", request.user), current_key=request.session.session_key)
        super().logout(request)

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        raise Denied("Ask an admin if you need it again.", heading="Your account is deactivated")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Return the name alone. allauth's key has the Host header in it, which an attacker can vary."""
        return str(credentials.get("email") or credentials.get("username", "")).lower()

    def _locked_until(self, request: HttpRequest, credentials: dict[str, Any]) -> datetime | None:
        """Return when the next attempt is allowed; None if it is allowed now."""
        key = self._get_login_attempts_cache_key(request, **credentials)
        ends: list[float] = []
        for rate in ratelimit.get_rates(**_LIMIT):
            history = cache.get(ratelimit.get_cache_key(request, **_LIMIT, rate=rate, key=key), [])
            # Newest first. An attempt is allowed once the oldest of the last `amount` is out of the window.
            if len(history) >= rate.amount:
                ends.append(history[rate.amount - 1] + rate.duration)
        return datetime.fromtimestamp(max(ends), UTC) if ends else None


class SecondFactorAdapter(DefaultMFAAdapter):
    """Encrypt the secrets of authenticator apps and recovery codes: a copy of the database is not enough."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong, expired or already used."
    }

    def encrypt(self, text: str) -> str:
        return cipher(*second_factors.PURPOSE).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return cipher(*second_factors.PURPOSE).decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            # No secret key of the site fits. Reject every code until an admin resets the factor.
            return base64.b32encode(secrets.token_bytes(20)).decode()


class ProviderLoginFailed(Exception):
    """The OpenID Connect provider did not confirm who is signing in."""


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Take accounts and roles from the provider. A local account with the same name is never taken over."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = _claims(sociallogin)
        role = _role(claims)
        try:
            self._update_account(request, sociallogin, role)
        except people.AccountError as error:
            sentence = f"{error.reason} Ask an admin."
            if error.field == "username":
                name = _username(claims)[:150]
                sentence = f"{settings.OIDC_NAME} sent the username {name!r}. {sentence}"
            raise Denied(sentence, heading="No account for you") from None
        if not role:
            name = str(claims.get("preferred_username", ""))[:150]
            with transaction.atomic():
                events.record("login refused", actor=None, provider_name=name, why="no group with a role")
            raise Denied(_NO_ROLE, heading="No access")

    @transaction.atomic
    def _update_account(self, request: HttpRequest, login: SocialLogin, role: str) -> None:
        if login.is_existing:
            people.set_role_from_provider(person=cast("User", login.user), role=role)
        elif role:
            login.connect(request, _add_user(login, role))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        if error == AuthError.CANCELLED:
            get_adapter().add_message(request, messages.INFO, message="You did not sign in.")
            raise ImmediateHttpResponse(redirect("login"))
        # Without a state, no login was begun here: anybody can call this address any number of times.
        if extra_context and extra_context.get("state"):
            with transaction.atomic():
                events.record("login failed", actor=None, username=None, by="provider")
        raise ProviderLoginFailed from exception


def _claims(login: SocialLogin) -> dict[str, Any]:
    """Merge the claims of the ID token and of the user info, which takes precedence."""
    data = login.account.extra_data
    return {**data["id_token"], **data["userinfo"]}


def _username(claims: dict[str, Any]) -> str:
    return str(claims.get("preferred_username") or claims["sub"])


def _role(claims: dict[str, Any]) -> str:
    """Return the highest role of a person's groups, or an empty string."""
    groups = claims.get(settings.OIDC_GROUP_CLAIM) or []
    names = [groups] if isinstance(groups, str) else groups
    given = {settings.OIDC_ROLES.get(name) for name in names if isinstance(name, str)}
    return next((role for role in reversed(ROLES) if role in given), "")


def _add_user(login: SocialLogin, role: str) -> User:
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
