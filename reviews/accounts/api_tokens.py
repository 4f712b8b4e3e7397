"""API tokens: a program acts as a person, limited by scopes and an expiry date.

A token never allows more than the role of its owner. Its text is shown once; only a hash is stored.
"""

import datetime as dt
import secrets
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from reviews.accounts.encryption import hash_token
from reviews.accounts.permissions import can, person_statement
from reviews.audit import events
from reviews.database.compiled_queries import CompiledStatement
from reviews.database.statements import prepared_statements
from reviews.models import ApiToken, User

# Scope -> the permission (see `permissions`) that the owner's role needs for it.
SCOPES = {
    "import": "import_file",
    "export": "export_run",
    "configure": "configure_run",
    "review": "review_evaluation",
    "read": "review_evaluation",
    "manage": "manage_people",
    "tokens": "review_evaluation",
}
# Scope -> its meaning, for pages.
SCOPE_MEANINGS = {
    "import": "import files and task context",
    "export": "export runs",
    "configure": "change the settings of runs",
    "review": "claim and review records",
    "read": "read runs, records and figures",
    "manage": "manage people, webhooks and jobs",
    "tokens": "create tokens that allow less, and revoke tokens",
}
DEFAULT_DAYS = 90
MAX_DAYS = 366
_LAST_USE_PRECISION = dt.timedelta(minutes=1)
_COLUMNS = [field.attname for field in ApiToken._meta.concrete_fields]
_TOKEN = f"""
    SELECT person.*, {", ".join(f"token.{name} AS token_{name}" for name in _COLUMNS)}
    FROM api_token token JOIN LATERAL ({{people}}) person ON person.is_active
    WHERE token.token_hash = %s AND token.revoked_at IS NULL AND token.expires_at > %s
"""  # noqa: S608 (a constant)


class TokenError(Exception):
    """The token cannot be created. The message is a sentence."""


class NewToken(NamedTuple):
    token: ApiToken
    #: The secret that programs send. Not stored.
    text: str


@transaction.atomic
def create(
    *,
    person: User,
    scopes: Iterable[str],
    days: int = DEFAULT_DAYS,
    name: str = "",
    actor: User | None,
    until: dt.datetime | None = None,
) -> NewToken:
    """Create a token for a person, which expires after `days`, and at the latest at `until`.

    `name` says what the token is for. Without an `actor`, the program itself creates it. Raises `TokenError`.
    """
    # Deactivating a person and setting a password lock this row too. They either finish first, or see this
    # token and revoke it.
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    requested = set(scopes)
    _check(person, requested, days)
    expires_at = timezone.now() + dt.timedelta(days)
    prefix = f"cr_{secrets.token_hex(4)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        person=person,
        name=name,
        prefix=prefix,
        token_hash=hash_token(text),
        scopes=[scope for scope in SCOPES if scope in requested],
        expires_at=min(expires_at, until) if until else expires_at,
    )
    detail: dict[str, Any] = {"scopes": token.scopes, "expires": token.expires_at.isoformat()}
    if name:
        detail["name"] = name
    _record("token made", token, actor, **detail)
    return NewToken(token, text)


def _check(person: User, scopes: set[str], days: int) -> None:
    if not scopes or scopes - set(SCOPES):
        raise TokenError(f"Choose one or more of the scopes {', '.join(SCOPES)}.")
    if not 1 <= days <= MAX_DAYS:
        raise TokenError(f"A token is valid for 1 to {MAX_DAYS} days.")
    if not person.is_active:
        raise TokenError(f"{person.name} is deactivated.")
    useless = [scope for scope in SCOPES if scope in scopes and not can(person, SCOPES[scope])]
    if useless:
        raise TokenError(f"The role of {person.name} does not allow: {', '.join(useless)}.")


@prepared_statements()
def authenticate(text: str) -> ApiToken | None:
    """Return the valid token with this text, with its person, and record its use. None for any other text.

    One query loads the token, the person and the permissions of their role. The use is written once a minute.
    """
    statement, values = _authenticating_statement()
    for person in statement.rows([*values, hash_token(text), timezone.now()]):
        loaded = vars(person)
        token = ApiToken.from_db(DEFAULT_DB_ALIAS, _COLUMNS, [loaded[f"token_{name}"] for name in _COLUMNS])
        token.person = person
        _record_use(token)
        return token
    return None


@cache
def _authenticating_statement() -> tuple[CompiledStatement[User], list[Any]]:
    people, values = person_statement("token.person_id")
    return CompiledStatement(User, _TOKEN.format(people=people)), values


def _record_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at <= now - _LAST_USE_PRECISION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def valid_tokens(person: User) -> QuerySet[ApiToken]:
    """Return the valid tokens of a person, newest first."""
    return _valid().filter(person=person).order_by("-pk")


def all_valid_tokens() -> QuerySet[ApiToken]:
    """Return the valid tokens of everybody, with their owners."""
    return _valid().select_related("person")


def ended_tokens() -> QuerySet[ApiToken]:
    """Return the tokens that have expired or were revoked, with their owners."""
    is_over = Q(revoked_at__isnull=False) | Q(expires_at__lte=timezone.now())
    return ApiToken.objects.filter(is_over).select_related("person")


@transaction.atomic
def revoke(*, token: ApiToken, actor: User | None) -> None:
    """Revoke a token. A token that is no longer valid stays as it is."""
    if _valid().filter(pk=token.pk).update(revoked_at=timezone.now()):
        _record("token revoked", token, actor)


@transaction.atomic
def revoke_all(*, person: User, actor: User | None) -> int:
    """Revoke all tokens of a person, each with an event. Return their number. `actor=None` is the program."""
    tokens = list(_valid().filter(person=person).select_related("person").order_by("pk"))
    for token in tokens:
        revoke(token=token, actor=actor)
    return len(tokens)


def _record(action: str, token: ApiToken, actor: User | None, **detail: Any) -> None:
    detail = {"token": token.pk, "prefix": token.prefix, **detail}
    events.record(action, actor=actor, username=token.person.username, **detail)


def _valid() -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(revoked_at=None, expires_at__gt=timezone.now())
