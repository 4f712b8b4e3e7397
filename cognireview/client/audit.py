"""Events of the audit log as dataclasses. docs/audit.md explains their members."""

import datetime as dt
from dataclasses import dataclass

from cognireview.client.responses import Json


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
    detail: Json


@dataclass(frozen=True)
class AuditPage:
    """A page of audit events, newest first."""

    events: list[AuditEvent]
    next: str | None
