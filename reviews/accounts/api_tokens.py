"""Tokens of the API: a program shows one to act as a person, within scopes and until a day.

A token opens nothing that its person's role does not. It is shown once, and kept as a hash.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from reviews.accounts.permissions import can
from reviews.audit import events
from reviews.models import ApiToken, User

# Scope -> the permission (as in `permissions`) without which it is of no use.
SCOPES = {
    "import": "import_file",
    "export": "export_run",
    "review": "review_evaluation",
    "read": "review_evaluation",
}
DEFAULT_DAYS = 90
MAX_DAYS = 366
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


class TokenError(Exception):
    """There can be no such token; the reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NewToken(NamedTuple):
    """A new token and its text, which is nowhere else."""

    token: ApiToken
    text: str


@transaction.atomic
def create(*, person: User, scopes: Iterable[str], days: int = DEFAULT_DAYS, actor: User | None) -> NewToken:
    """Make a token for a person. `actor=None` is the program itself. Raises `Refused`."""
    # Deactivating and a new password lock this row too: they revoke this token, or come before it.
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    wanted = [scope for scope in SCOPES if scope in set(scopes)]
    _check(person, set(scopes), days)
    prefix = f"cr_{secrets.token_hex(4)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        person=person,
        prefix=prefix,
        token_hash=_hash(text),
        scopes=wanted,
        expires_at=timezone.now() + timedelta(days),
    )
    expires = token.expires_at.isoformat()
    told: dict[str, Any] = {"token": token.pk, "prefix": prefix, "scopes": wanted, "expires": expires}
    events.record("token made", actor=actor, username=person.username, **told)
    return NewToken(token, text)


def _check(person: User, scopes: set[str], days: int) -> None:
    if not scopes or scopes - set(SCOPES):
        raise TokenError(f"A token has one or more of the scopes {', '.join(SCOPES)}.")
    if not 1 <= days <= MAX_DAYS:
        raise TokenError(f"A token is good for 1 to {MAX_DAYS} days.")
    if not person.is_active:
        raise TokenError(f"{person.name} is deactivated.")
    useless = [scope for scope in SCOPES if scope in scopes and not can(person, SCOPES[scope])]
    if useless:
        raise TokenError(f"The role of {person.name} does not allow: {', '.join(useless)}.")


def authenticate(text: str) -> ApiToken | None:
    """The token of a text with its person, if it works. That it was used is noted."""
    working = _valid().select_related("person")
    token = working.filter(token_hash=_hash(text), person__is_active=True).first()
    if token:
        now = timezone.now()
        lately = Q(last_used_at__gt=now - _USE_IS_NOTED_EVERY)
        ApiToken.objects.filter(~lately | Q(last_used_at=None), pk=token.pk).update(last_used_at=now)
    return token


def valid_tokens(person: User) -> QuerySet[ApiToken]:
    """The tokens of a person that work, the newest first."""
    return _valid().filter(person=person).order_by("-pk")


@transaction.atomic
def revoke(*, token: ApiToken, actor: User | None) -> None:
    """End a token before its time. One that is over is left alone."""
    if _valid().filter(pk=token.pk).update(revoked_at=timezone.now()):
        told: dict[str, Any] = {"token": token.pk, "prefix": token.prefix}
        events.record("token revoked", actor=actor, username=token.person.username, **told)


@transaction.atomic
def revoke_all(*, person: User, actor: User | None) -> int:
    """End all tokens of a person, each with its event; returns how many. `actor=None` is the program."""
    working = list(_valid().filter(person=person).select_related("person").order_by("pk"))
    for token in working:
        revoke(token=token, actor=actor)
    return len(working)


def _valid() -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(revoked_at=None, expires_at__gt=timezone.now())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
