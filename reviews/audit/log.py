"""The audit log: the audit events in the order of their seals, to check and to hand out. Reads only."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.db import connection

from reviews.audit import decision_check
from reviews.audit.hash_chain import EMPTY, ChainVerifier, Head, SealedEvent, event_digest
from reviews.audit.reveals import opinions_hidden_from
from reviews.database.held_transaction import HeldTransaction
from reviews.models import AuditEvent, Evaluation, Run, User

log = logging.getLogger(__name__)

# An event as it is sealed, every column of it. It is sent from here and not asked of the function that the
# trigger calls: who can alter events can alter that one too.
EVENT_TEXT = """jsonb_build_object(
    'id', event.id, 'at', to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'actor', event.actor_id, 'actor_name', event.actor_name, 'action', event.action,
    'run', event.run_id, 'run_name', event.run_name, 'import', event.source_id,
    'evaluation', event.evaluation_id, 'record', event.record, 'detail', event.detail
)::text"""
_BATCH = 2_000
# In batches, by both primary keys: whole, it would be a join and a sort of all events on disk.
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
# Events with the scores that somebody gave.
_SAYS = ("opinion", "blind scores")
_HEAD = "SELECT position, hash FROM audit_seal ORDER BY position DESC LIMIT 1"


class LogEntry(NamedTuple):
    """A seal with its event: the key of its run, and its text, empty if it is gone."""

    sealed: SealedEvent
    run_id: int | None
    text: bytes

    def line(self, *, whole: bool) -> bytes:
        """The entry as a line of JSON; not `whole`, it holds the digest of the event in its place."""
        sealed = self.sealed
        what = b'"event": %b' % (self.text or b"null")
        if not whole and sealed.digest:
            what = b'"digest": "%b"' % sealed.digest.hex().encode()
        hashes = (sealed.previous.hex().encode(), sealed.hash.hex().encode())
        return b'{"position": %d, "previous": "%b", "hash": "%b", %b}\n' % (sealed.position, *hashes, what)


def chain_head() -> Head:
    """Where the chain is, as this transaction sees it. Of what it sees, exactly that much is sealed."""
    with connection.cursor() as cursor:
        cursor.execute(_HEAD)
        row = cursor.fetchone()
    return Head(row[0], bytes(row[1])) if row else EMPTY


def log_chain_head() -> None:
    """Log the head of the chain. Where that log is kept, the chain cannot be rewritten unseen up to there."""
    if (last := chain_head()) != EMPTY:
        log.info("audit head %s", last)


def verify(chain: ChainVerifier) -> Iterator[str]:
    """Yield a sentence for each fault of the audit log, and for each decision that differs from it.

    Afterwards the chain has its head.
    """
    with _one_moment():
        for entry in _entries():
            yield from chain.verify_next(entry.sealed)
        yield from chain.verify_end()
        for event in _unsealed():
            yield f"event {event} has no seal: it was slipped in, or its seal was removed"
        yield from decision_check.find_differences()


def jsonl_lines(run: Run | None = None, *, after: int = 0, reader: User | None = None) -> Iterator[bytes]:
    """The audit log as JSONL, behind a position. Of a run, other events are digests: the chain stays whole.

    So are the opinions and blind scores of others on records that the `reader` may still give an opinion on.
    """
    with _one_moment():
        for entries in _batches(after):
            withheld = _withheld(entries, reader) if reader else set()
            for entry in entries:
                is_asked = run is None or entry.run_id == run.pk
                yield entry.line(whole=is_asked and entry.sealed.event not in withheld)


def _withheld(entries: Sequence[LogEntry], reader: User) -> set[int]:
    """The keys of events that would show the reader what others say of records they may still judge."""
    keys = [entry.sealed.event for entry in entries if entry.sealed.event is not None]
    said = AuditEvent.objects.filter(pk__in=keys, action__in=_SAYS).exclude(actor=reader).order_by()
    sealed = Evaluation.objects.filter(opinions_hidden_from(reader))
    return set(said.filter(evaluation__in=sealed).values_list("pk", flat=True))


@contextmanager
def _one_moment() -> Iterator[None]:
    """Let all queries see the same moment (inside another transaction: as that has it)."""
    with HeldTransaction():
        if not connection.savepoint_ids:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _entries(position: int = 0) -> Iterator[LogEntry]:
    for entries in _batches(position):
        yield from entries


def _batches(position: int = 0) -> Iterator[list[LogEntry]]:
    rows = [()]
    while rows:
        with connection.cursor() as cursor:
            cursor.execute(_NEXT, [position])
            rows = cursor.fetchall()
        yield [_entry(row) for row in rows]
        position = rows[-1][0] if rows else position


def _entry(row: tuple[int, int, bytes, bytes, int | None, str | None]) -> LogEntry:
    position, event, previous, hash_, run_id, text = row
    spelled = text.encode() if text is not None else b""
    digest = event_digest(spelled) if spelled else None
    return LogEntry(SealedEvent(position, event, bytes(previous), bytes(hash_), digest), run_id, spelled)


def _unsealed() -> Iterator[int]:
    with connection.cursor() as cursor:
        cursor.execute(_UNSEALED)
        while rows := cursor.fetchmany(_BATCH):
            yield from (row[0] for row in rows)
