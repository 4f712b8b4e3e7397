"""Record audit events in the transaction of the change they describe. Nothing else writes them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.db import connection

from reviews.models import AuditEvent, Evaluation, Import, Run, User

_address: ContextVar[str | None] = ContextVar("client_address", default=None)


@contextmanager
def request_from(address: str | None) -> Iterator[None]:
    """Set the address of the events that are recorded in this block."""
    before = _address.set(address)
    try:
        yield
    finally:
        _address.reset(before)


def client_address() -> str | None:
    """Return the address of the client; None outside a request."""
    return _address.get()


# Added to `before` and `after` in an event's `human`: see `record`.
KEEPS_LINE = {"keeps_line": True}


class NoTransaction(Exception):
    """An audit event must be recorded in the transaction of the change it describes."""


def record(
    action: str,
    *,
    actor: User | None,
    run: Run | None = None,
    source: Import | None = None,
    evaluation: Evaluation | None = None,
    **detail: Any,
) -> AuditEvent:
    """Record one event. `actor=None` is the program itself. `detail` has JSON values.

    The event has the address of the client whose request is being handled.

    `run` may be omitted if there is an `evaluation`. It is None for an import that has no run.

    An event that changes human_* values of a record has them in `human`: {"before": {...}, "after": {...}},
    five values each, with the timestamp in ISO 8601, and `KEEPS_LINE` if the exported line stays unchanged.
    `verify_log` compares these values with an export. The database seals the event when the transaction
    commits; the transaction must be READ COMMITTED.

    Raises `NoTransaction` outside a transaction.
    """
    if not connection.in_atomic_block:
        raise NoTransaction(action)
    run = evaluation.run if evaluation and run is None else run
    return AuditEvent.objects.create(
        action=action,
        actor=actor,
        actor_name=actor.username if actor else "",
        address=client_address(),
        run=run,
        run_name=run.name if run else source.run_name if source else "",
        source=source,
        evaluation=evaluation,
        record=evaluation.evaluation_id if evaluation else "",
        detail=detail,
    )


class RecordEvent(NamedTuple):
    """The part of an event that differs from record to record."""

    #: The primary key of the record.
    evaluation: int
    #: The evaluation_id of the record.
    record: str
    detail: dict[str, Any]


def record_each(action: str, *, source: Import, about: Iterable[RecordEvent]) -> None:
    """Record one event per record for the same action of an import, in the import's transaction."""
    actor = source.created_by
    AuditEvent.objects.bulk_create(
        AuditEvent(
            action=action,
            actor=actor,
            actor_name=actor.username if actor else "",
            address=client_address(),
            run=source.run,
            run_name=source.target_name,
            source=source,
            evaluation_id=one.evaluation,
            record=one.record,
            detail=one.detail,
        )
        for one in about
    )
