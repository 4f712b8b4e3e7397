"""What allauth leaves to us at a login: what is told, how limits are explained, how secrets are kept."""

import base64
import secrets
from datetime import UTC, datetime
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import InvalidToken
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from reviews.accounts import second_factors, sessions
from reviews.accounts.encryption import cipher
from reviews.audit import events
from reviews.http.errors import error_page
from reviews.models import User
from reviews.queue.claims import clock

_LIMIT: dict[str, Any] = {"app": "allauth.account", "action": "login_failed"}


class AccountAdapter(DefaultAccountAdapter):
    """Logins, logouts and failures leave audit events; nobody signs up by themselves."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "The username or the password is wrong.",
        "incorrect_password": "This is not your password.",
        # The window of the limit for one account (see ACCOUNT_RATE_LIMITS).
        "too_many_login_attempts": "Too many failed attempts. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def add_message(self, request: HttpRequest, level: int, *_: Any, **options: Any) -> None:
        """Pass on what has a message; those from allauth's templates say what the page shows anyway."""
        if options.get("message"):
            super().add_message(request, level, message=options["message"])

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            until = self._closed_until(request, credentials) or timezone.now()
            raise ValidationError(
                f"Too many failed logins. Try again at {clock(until)}.", code="too_many_login_attempts"
            ) from None

    @transaction.atomic
    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        # What was typed is told only if it is a name: some type their password there.
        known = User.objects.filter(username__iexact=credentials.get("username", "")).first()
        who: dict[str, Any] = {
            "username": known.username if known else None,
            "address": self.get_client_ip(request),
        }
        events.record("login failed", actor=None, **who)
        until = self._closed_until(request, credentials)
        if until:
            events.record("login locked", actor=None, **who, until=until.isoformat())

    @transaction.atomic
    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **options: Any) -> HttpResponse:
        response = super().post_login(request, user, **options)
        records = get_authentication_records(request, user)
        means = [record.get("type") or record["method"] for record in records]
        events.record("login", actor=cast("User", user), by=means, address=self.get_client_ip(request))
        return response

    def logout(self, request: HttpRequest) -> None:
        sessions.record_logout(cast("User", request.user), request.session.session_key)
        super().logout(request)

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        return error_page(request, 403, "Your account is deactivated", "Ask an admin if you need it again.")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """The name alone: allauth counts it anew for each host and port that a request claims to be for."""
        return str(credentials.get("email") or credentials.get("username", "")).lower()

    def _closed_until(self, request: HttpRequest, credentials: dict[str, Any]) -> datetime | None:
        """When the next attempt will be let through, if it would not be now."""
        key = self._get_login_attempts_cache_key(request, **credentials)
        ends: list[float] = []
        for rate in ratelimit.get_rates(**_LIMIT):
            history = cache.get(ratelimit.get_cache_key(request, **_LIMIT, rate=rate, key=key), [])
            # The latest comes first; when the last of so many is over, there is room for one.
            if len(history) >= rate.amount:
                ends.append(history[rate.amount - 1] + rate.duration)
        return datetime.fromtimestamp(max(ends), UTC) if ends else None


class SecondFactorAdapter(DefaultMFAAdapter):
    """The secrets of apps and recovery codes are encrypted: reading the database is not enough to log in."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong, was used before, or is over by now."
    }

    def encrypt(self, text: str) -> str:
        return cipher(*second_factors.PURPOSE).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return cipher(*second_factors.PURPOSE).decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            # No key of the site opens it. No code fits until an admin resets the factor.
            return base64.b32encode(secrets.token_bytes(20)).decode()
