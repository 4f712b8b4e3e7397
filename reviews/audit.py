"""The audit events: `record` is the only writer, called inside the transaction of what it tells of."""

from typing import Any

from django.db import connection

from reviews.models import AuditEvent, Evaluation, Import, Run, User


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

    Raises `NoTransaction` outside a transaction.
    """
    if not connection.in_atomic_block:
        raise NoTransaction(action)
    return AuditEvent.objects.create(
        action=action,
        actor=actor,
        actor_name=actor.username if actor else "",
        run=run,
        source=source,
        evaluation=evaluation,
        detail=detail,
    )
