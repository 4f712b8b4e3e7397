"""A line whose id the run has already: unchanged, updated, a conflict, or rejected.

The pipeline appends to its file and re-runs its parser, and files that were exported come back.
What people decided here is never overwritten by a file.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson
from django.db import connection

from reviews import source
from reviews.models import Evaluation, Import, ImportLine
from reviews.record import HUMAN_FIELDS, Limits, Record, parse_line

Outcome = ImportLine.Outcome

# For lines that were accepted before, under the limits of their day.
_NO_LIMITS = Limits(line_bytes=sys.maxsize, id_bytes=sys.maxsize, nesting=sys.maxsize)


class Incoming:
    """A line of the file being imported, and the record it holds."""

    def __init__(self, line: int, text: bytes, record: Record) -> None:
        self.line = line
        self.record = record
        self._text = text

    @cached_property
    def content_hash(self) -> bytes:
        return content_hash(self._text)


def content_hash(line: bytes) -> bytes:
    """What tells two versions of a line (without LF) apart."""
    return hashlib.blake2b(line, digest_size=16).digest()


@dataclass
class Known:
    """What the database holds under an id that a file brings again."""

    pk: int
    run_id: int
    run_name: str
    content_hash: bytes
    source_import_id: int
    source_line: int
    is_reviewed: bool
    human: dict[str, Any]
    seen_in_line: int | None


class Settled(NamedTuple):
    """The outcome of a known id. Where the evaluation takes the line, `takes` holds it."""

    line: int
    outcome: Outcome
    field: str
    reason: str
    evaluation: int | None
    takes: Incoming | None = None
    respelled: bool = False


# What stands under these ids, and in which line this very import has met them before. The rows are
# locked: a review submitted meanwhile is seen, or waits and then finds the record changed. After such
# a wait PostgreSQL reads only the locked row anew, so whatever tells of a review must stand on it.
_KNOWN = """
    SELECT e.evaluation_id, e.id, e.run_id, run.name, e.content_hash, e.source_import_id, e.source_line,
           e.review_id IS NOT NULL,
           CASE WHEN e.first_import_id = %(import)s THEN e.first_line ELSE (
               SELECT min(seen.line) FROM import_line seen
               WHERE seen.evaluation_id = e.id AND seen.source_id = %(import)s
           ) END,
           {human}
    FROM evaluation e
    JOIN run ON run.id = e.run_id
    WHERE e.evaluation_id = ANY(%(ids)s)
    FOR UPDATE OF e
""".format(human=", ".join(f"e.{name}" for name in HUMAN_FIELDS))  # noqa: S608 (our own column names)


def known_records(target: Import, incoming: Iterable[Incoming]) -> dict[str, Known]:
    """Those of the incoming ids that are in the database, by id."""
    ids = [one.record.evaluation_id for one in incoming]
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {"import": target.pk, "ids": ids})
        return {row[0]: _known(*row[1:]) for row in cursor.fetchall()}


def _known(*row: Any) -> Known:
    pk, run_id, run_name, content, import_id, line, is_reviewed, seen, *human = row
    values = dict(zip(HUMAN_FIELDS, human, strict=True))
    scores = values["human_corrected_scores"]
    values["human_corrected_scores"] = orjson.loads(scores) if scores else None
    return Known(pk, run_id, run_name, bytes(content), import_id, line, is_reviewed, values, seen)


def settle(incoming: Incoming, known: Known, target: Import) -> Settled:
    """Decide what becomes of a line whose id is known. Changes nothing."""
    if known.run_id != target.run_id:
        reason = f"belongs to the run {known.run_name!r} already"
        return Settled(incoming.line, Outcome.REJECTED, "evaluation_id", reason, None)
    if known.seen_in_line:
        reason = f"stands in line {known.seen_in_line} already"
        return Settled(incoming.line, Outcome.REJECTED, "evaluation_id", reason, None)
    if incoming.content_hash == known.content_hash:
        return Settled(incoming.line, Outcome.UNCHANGED, "", "the same bytes as before", known.pk)
    return _settle_changed(incoming, known)


def _settle_changed(incoming: Incoming, known: Known) -> Settled:
    kept = parse_line(source.kept_line(known.source_import_id, known.source_line), _NO_LIMITS)
    record = incoming.record
    changed = [name for name in Record._fields if not _same(getattr(kept, name), getattr(record, name))]
    if not changed:
        reason = "says the same, spelled differently"
        return Settled(incoming.line, Outcome.UPDATED, "", reason, known.pk, incoming, respelled=True)
    only_human = all(name in HUMAN_FIELDS for name in changed)
    if only_human and all(_same(getattr(record, name), known.human[name]) for name in HUMAN_FIELDS):
        return Settled(incoming.line, Outcome.UNCHANGED, "", "holds the decision in force here", known.pk)
    # One changed field is named in its own place, several in the reason.
    field, several = (changed[0], "") if len(changed) == 1 else ("", ", ".join(changed) + " ")
    if known.is_reviewed:
        reviewer = known.human["human_reviewer_id"]
        reason = f"{several}changed in the file, but reviewed here by {reviewer}: the review stands"
        return Settled(incoming.line, Outcome.CONFLICT, field, reason, known.pk)
    reason = f"{several}taken from the file"
    return Settled(incoming.line, Outcome.UPDATED, field, reason, known.pk, incoming)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON too, where 1, 1.0 and true are three."""
    return bool(one == other) and _sorted_json(one) == _sorted_json(other)


def _sorted_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def apply_updates(target: Import, updates: Iterable[Settled]) -> None:
    """Point evaluations at their new lines and give them the content, where that changed.

    Whoever has such a record open learns of it by its version.
    """
    for settled in updates:
        if settled.takes and settled.evaluation:
            evaluation = Evaluation.objects.get(pk=settled.evaluation)
            _take(target, settled.takes, evaluation, respelled=settled.respelled)


def _take(target: Import, incoming: Incoming, evaluation: Evaluation, *, respelled: bool) -> None:
    evaluation.source_import, evaluation.source_line = target, incoming.line
    evaluation.content_hash = incoming.content_hash
    names = ["source_import", "source_line", "content_hash"]
    if not respelled:
        for name, value in zip(Record._fields, incoming.record, strict=True):
            setattr(evaluation, name, value)
        evaluation.version += 1
        names += ["version", *Record._fields]
    evaluation.save(update_fields=names)
