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
    actor_name: str
    address: str | None
    action: str
    run: int | None
    run_name: str
    import_: int | None
    evaluation: int | None
    record: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class AuditPage:
    """A page of audit events, newest first."""

    events: list[AuditEvent]
    next: str | None


@dataclass(frozen=True)
class ChainCheck:
    """A check of the audit log."""

    created_at: dt.datetime
    finished_at: dt.datetime | None
    events: int
    head: str
    differences: int
    #: The first differences, for admins.
    problems: list[str]
    error: str


@dataclass(frozen=True)
class Chain:
    """The state of the audit log."""

    events: int
    sealed_at: dt.datetime | None
    #: The last finished check.
    last: ChainCheck | None
    running: ChainCheck | None
