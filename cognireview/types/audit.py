"""Events of the audit log as dataclasses. docs/audit.md explains their members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AuditEvent:
    """An event of the audit log."""

    id: int
    at: dt.datetime
    actor: int | None
    """The id of a person."""
    actor_name: str
    address: str | None
    """The IP address of the client."""
    action: str
    run: int | None
    run_name: str
    import_: int | None
    evaluation: int | None
    record: str
    """The evaluation_id, or empty."""
    detail: dict[str, Any]
    """The values before and after, by action."""


@dataclass(frozen=True)
class AuditPage:
    """A page of audit events, newest first."""

    events: list[AuditEvent]
    """With the keys of `event` in docs/audit.md."""
    next: str | None
    """The cursor of the next page; null on the last page."""


@dataclass(frozen=True)
class ChainCheck:
    """A check of the audit log."""

    created_at: dt.datetime
    finished_at: dt.datetime | None
    events: int
    head: str
    differences: int
    problems: list[str]
    """The first differences, for admins."""
    error: str


@dataclass(frozen=True)
class Chain:
    """The state of the audit log."""

    events: int
    sealed_at: dt.datetime | None
    last: ChainCheck | None
    """The last finished check."""
    running: ChainCheck | None
