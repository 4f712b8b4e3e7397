"""Verify and export the audit log: the audit events in the order of their seals. Reads only."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import connection

from reviews.audit import decision_check
from reviews.audit.hash_chain import EMPTY, ChainVerifier, Head, SealedEvent, event_digest
from reviews.audit.listing import visible_events
from reviews.database.held_transaction import HeldTransaction
from reviews.database.statements import execute, fetch_all, fetch_one
from reviews.models import AuditEvent, User

log = logging.getLogger(__name__)

# The sealed text of an event, with every column. Not taken from the function in the database: an attacker who
# can alter events can alter that function, too.
EVENT_TEXT = """jsonb_build_object(
    'id', event.id, 'at', to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'actor', event.actor_id, 'actor_name', event.actor_name, 'address', host(event.address),
    'action', event.action,
    'run', event.run_id, 'run_name', event.run_name, 'import', event.source_id,
    'evaluation', event.evaluation_id, 'record', event.record, 'detail', event.detail
)::text"""
_BATCH = 2_000
# In batches by primary key: a single query would join and sort all events on disk.
_NEXT = f"""
    SELECT seal.position, seal.event_id, seal.previous, seal.hash, event.run_id,
           CASE WHEN event.id IS NOT NULL THEN {EVENT_TEXT} END
    FROM (SELECT * FROM audit_seal WHERE position > %s ORDER BY position LIMIT {_BATCH}) seal
    LEFT JOIN audit_event event ON event.id = seal.event_id
    ORDER BY seal.position
"""  # noqa: S608 (constants)
_UNSEALED = """
    SELECT id FROM audit_event event
    WHERE NOT EXISTS (SELECT FROM audit_seal seal WHERE seal.event_id = event.id)
    ORDER BY id
"""
_HEAD = "SELECT position, hash FROM audit_seal ORDER BY position DESC LIMIT 1"


class LogEntry(NamedTuple):
    """A seal with its event."""

    sealed: SealedEvent
    run_id: int | None
    #: The sealed text of the event; empty if the event is missing.
    text: bytes

    def line(self, *, whole: bool) -> bytes:
        """Return the entry as a line of JSON, with the event's digest instead of the event unless `whole`."""
        sealed = self.sealed
        event = b'"event": %b' % (self.text or b"null")
        if not whole and sealed.digest:
            event = b'"digest": "%b"' % sealed.digest.hex().encode()
        hashes = (sealed.previous.hex().encode(), sealed.hash.hex().encode())
        return b'{"position": %d, "previous": "%b", "hash": "%b", %b}\n' % (sealed.position, *hashes, event)


def chain_head() -> Head:
    """Return the head of the chain in the snapshot of this transaction."""
    row = fetch_one(_HEAD)
    return Head(row[0], bytes(row[1])) if row else EMPTY


def log_chain_head() -> None:
    """Write the chain head to the program's log. A copy of that log reveals a rewritten chain."""
    if (last := chain_head()) != EMPTY:
        log.info("audit head %s", last)


def verify(chain: ChainVerifier) -> Iterator[str]:
    """Yield a sentence for each fault of the audit log, and for each decision that differs from it.

    Afterwards, `chain.head` is the head of the log.
    """
    with _snapshot():
        for entries in _batches():
            for entry in entries:
                yield from chain.verify_next(entry.sealed)
        yield from chain.verify_end()
        for event in _unsealed():
            yield f"event {event} has no seal: the event was inserted, or its seal was removed"
        yield from decision_check.find_differences()


def jsonl_lines(run_id: int | None = None, *, after: int = 0, reader: User | None = None) -> Iterator[bytes]:
    """Yield the audit log as JSONL, from the entry after a position.

    With the key of a run, the events of other runs are digests, so that the chain can still be verified.
    With a `reader`, so are the events of runs that they may not see, and independent reviews and blind scores
    if they may still review the records independently.
    """
    with _snapshot():
        for entries in _batches(after):
            withheld = _withheld(entries, reader) if reader else set()
            for entry in entries:
                is_wanted = run_id in {None, entry.run_id}
                yield entry.line(whole=is_wanted and entry.sealed.event not in withheld)


def _withheld(entries: Sequence[LogEntry], reader: User) -> set[int]:
    """Return the keys of events that the reader must not see."""
    keys = {entry.sealed.event for entry in entries if entry.sealed.event is not None}
    shown = visible_events(AuditEvent.objects.filter(pk__in=keys).order_by(), reader)
    return keys - set(shown.values_list("pk", flat=True))


@contextmanager
def _snapshot() -> Iterator[None]:
    """Run all queries on one snapshot. Inside another transaction, keep its isolation level."""
    with HeldTransaction():
        if not connection.savepoint_ids:
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _batches(position: int = 0) -> Iterator[list[LogEntry]]:
    while rows := fetch_all(_NEXT, [position]):
        yield [_entry(row) for row in rows]
        position = rows[-1][0]


def _entry(row: tuple[Any, ...]) -> LogEntry:
    position, event, previous, hash_, run_id, text = row
    encoded = text.encode() if text is not None else b""
    digest = event_digest(encoded) if encoded else None
    return LogEntry(SealedEvent(position, event, bytes(previous), bytes(hash_), digest), run_id, encoded)


def _unsealed() -> Iterator[int]:
    with connection.cursor() as cursor:
        cursor.execute(_UNSEALED)
        while rows := cursor.fetchmany(_BATCH):
            yield from (row[0] for row in rows)
