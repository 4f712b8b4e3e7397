"""The audit events: `record` is the only writer, called inside the transaction of what it tells of."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import connection

from reviews.models import AuditEvent, Evaluation, Import, Run, User

# Beside `before` and `after` in the `human` of an event: see `record`.
KEEPS_LINE = {"keeps_line": True}


class NoTransaction(Exception):
    """An audit event is written in the transaction of the change it tells of, or not at all."""


def record(
    action: str,
    *,
    actor: User | None,
    run: Run | None = None,
    source: Import | None = None,
    evaluation: Evaluation | None = None,
    **detail: Any,
) -> AuditEvent:
    """Write one event; `actor=None` is the program itself. `detail` holds JSON values.

    An event that changes human_* values of a record has them in `human`: {"before": {...}, "after": {...}},
    five values each, the timestamp in ISO 8601; with `KEEPS_LINE` where the line stays as it came all the
    same. `verify_log` compares them with an export. The database seals the event when the transaction
    commits, which must be READ COMMITTED.

    Raises `NoTransaction` outside a transaction.
    """
    if not connection.in_atomic_block:
        raise NoTransaction(action)
    return AuditEvent.objects.create(
        action=action,
        actor=actor,
        actor_name=actor.username if actor else "",
        run=run,
        run_name=run.name if run else "",
        source=source,
        evaluation=evaluation,
        record=evaluation.evaluation_id if evaluation else "",
        detail=detail,
    )


class RecordEvent(NamedTuple):
    """A record that one of many events is about: its key, its evaluation_id, and the detail."""

    evaluation: int
    record: str
    detail: dict[str, Any]


def record_each(action: str, *, source: Import, about: Iterable[RecordEvent]) -> None:
    """Write an event for each record that an import does the same to, in the import's transaction."""
    actor = source.created_by
    AuditEvent.objects.bulk_create(
        AuditEvent(
            action=action,
            actor=actor,
            actor_name=actor.username if actor else "",
            run=source.run,
            run_name=source.run.name,
            source=source,
            evaluation_id=one.evaluation,
            record=one.record,
            detail=one.detail,
        )
        for one in about
    )
