"""People, invitations and tokens. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

Role = Literal["reviewer", "lead", "admin"]
Scope = Literal["import", "export", "configure", "review", "read", "manage", "tokens"]


@dataclass(frozen=True)
class Person:
    """An account."""

    username: str
    name: str
    email: str
    role: str
    """Empty for an account without a role."""
    is_active: bool
    has_second_factor: bool
    is_from_provider: bool
    """Whether a login provider manages the account."""
    last_active_at: dt.datetime | None


@dataclass(frozen=True)
class PeoplePage:
    """A page of accounts, by username."""

    people: list[Person]
    next: str | None
    """The cursor of the next page, for `after`; null on the last page."""


@dataclass(frozen=True, kw_only=True)
class Invitee:
    """A person to invite, by name, e-mail address or both."""

    role: Role
    name: str = ""
    email: str = ""


@dataclass(frozen=True)
class Invitation:
    """A pending invitation or password link."""

    id: int
    purpose: Literal["join", "password"]
    role: str
    name: str
    email: str
    person: str | None
    """The person whose password the link sets."""
    created_by: str
    expires_at: dt.datetime


@dataclass(frozen=True)
class NewInvitation(Invitation):
    """A new invitation with its address, which is shown once."""

    url: str


@dataclass(frozen=True)
class Token:
    """A token without its text, which is shown once."""

    id: int
    person: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: dt.datetime
    expires_at: dt.datetime
    last_used_at: dt.datetime | None


@dataclass(frozen=True)
class NewToken(Token):
    """A new token."""

    text: str
    """Send it as `Authorization: Bearer ...`. It is shown once."""
