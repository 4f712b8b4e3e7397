"""Decide the outcome of a line whose record the run already has: unchanged, updated, conflict or rejected.

The pipeline appends to its file and re-runs its parser, and exported files are imported again. Each line is
compared with the stored line and with the decision made here. New evidence is accepted, but not that of
another judge, and a file never overwrites a decision made here. This module only decides; `bulk_update`
writes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from reviews.database.statements import fetch_all
from reviews.models import FileConflict, Import, ImportLine
from reviews.records.json_text import sorted_json
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS, Record
from reviews.records.status import DONE_STATUSES, NOT_REQUIRED, QUEUE_STATUSES, TRANSITIONS, keeps_line
from reviews.records.task_context import CONTEXT_FIELDS
from reviews.records.translation import read_line
from reviews.storage.chunks import ChunkLines
from reviews.storage.line_reader import LineReader

Outcome = ImportLine.Outcome
_JUDGE = "judge_llm_model"
_LONGEST_JUDGE = 80


@dataclass(eq=False)
class IncomingRecord:
    """A record in the file being imported, with its encoded row."""

    line: int
    evaluation_id: str
    content_hash: bytes
    row: memoryview
    lines: ChunkLines
    mapping: FieldMapping | None

    @cached_property
    def record(self) -> Record:
        """The parsed record, read on first access: a new record needs only its row."""
        return read_line(self._text, mapping=self.mapping, number=self.line)

    @property
    def _text(self) -> bytes:
        return self.lines[self.line - self.lines.chunk.first_line]

    def record_as_in(self, mapping: FieldMapping | None, line: int) -> Record:
        """Return the record as if it had come in that line of an earlier import, whose mapping is given.

        `$received_at` and the other circumstances of the import are then those of the earlier one, so only
        the content of the files is compared.
        """
        if mapping is None or self.mapping is None or not mapping.varies_by_import:
            return self.record
        outside = replace(mapping.outside, document=self.mapping.outside.document)
        return read_line(self._text, mapping=self.mapping.of_import(outside), number=line)


@dataclass
class KnownRecord:
    """A record of the run whose id is in the file again."""

    pk: int
    content_hash: bytes
    source_import_id: int
    source_line: int
    #: Whether an export has a decision made here. A confirmed random sample does not count.
    is_reviewed: bool
    is_sampled: bool
    #: Whether the record is a random sample that was reviewed without corrections.
    is_confirmed: bool
    first_import_id: int
    first_line: int
    #: The line in which this import has met the record before.
    seen_in_line: int | None
    #: The human_* values of an export.
    human: dict[str, Any]
    #: Hashes of lines whose decision a lead has rejected.
    overruled: set[bytes] = field(default_factory=set)


class Reconciled(NamedTuple):
    """The outcome of a line whose record is known."""

    line: int
    outcome: Outcome
    #: The changed field if there is only one, else empty.
    field: str
    reason: str
    evaluation: int | None
    #: The line, if it becomes the record's newest line.
    takes: IncomingRecord | None = None
    #: The new values of the record's columns. None: unchanged.
    values: Record | None = None
    is_sampled: bool = False
    is_outdated: bool = False
    #: Whether the current decision stays.
    keeps_review: bool = True
    #: The human_* values of a decision that becomes outdated or is no longer current.
    reopens: dict[str, Any] | None = None
    #: The line, if its decision conflicts with the current one made here.
    disputes: IncomingRecord | None = None


# The records of a run with these ids, and the line in which this import has met each of them before.
# The rows are locked: a concurrent submit comes first and is seen here, or waits and then finds that the
# record has changed. After waiting for a lock, PostgreSQL re-reads the locked row only.
# NO KEY: other transactions may insert rows that refer to these, such as the indexing job.
# One id after the other, and `+ 0`: while the statistics are those of an emptier table, PostgreSQL would
# otherwise read all records for each batch, from the table or through an index of the run.
_KNOWN = """
    SELECT known.* FROM json_array_elements_text(%(ids)s::json) AS wanted (id) CROSS JOIN LATERAL (
        SELECT e.evaluation_id, e.id, e.content_hash, e.source_import_id, e.source_line,
               e.review_id IS NOT NULL, e.is_sampled, e.first_import_id, e.first_line,
               CASE WHEN e.first_import_id = %(import)s THEN e.first_line ELSE coalesce((
                   SELECT min(seen.line) FROM import_line seen
                   WHERE seen.evaluation_id = e.id AND seen.source_id = %(import)s
               ), (
                   SELECT CASE WHEN e.first_line < seen.first_line + seen.lines
                          THEN seen.line + e.first_line - seen.first_line END
                   FROM import_line seen
                   WHERE seen.source_id = %(import)s AND seen.first_import_id = e.first_import_id
                         AND seen.first_line <= e.first_line
                   ORDER BY seen.first_line DESC LIMIT 1
               )) END,
               {human}
        FROM evaluation e
        WHERE e.evaluation_id = wanted.id AND e.run_id + 0 = %(run)s LIMIT 1
        FOR NO KEY UPDATE OF e
    ) AS known
""".format(human=", ".join(f"e.{name}" for name in HUMAN_FIELDS))  # noqa: S608 (our own column names)


def find_known_records(target: Import, incoming: Iterable[IncomingRecord]) -> dict[str, KnownRecord]:
    """Return the incoming records that the run already has, by id."""
    # In one order, as two transactions that lock the same records.
    ids = sorted({one.evaluation_id for one in incoming})
    values = {"import": target.pk, "run": target.run_id, "ids": orjson.dumps(ids).decode()}
    known = {key: _known(*row) for key, *row in fetch_all(_KNOWN, values)}
    _add_overruled({one.pk: one for one in known.values() if one.is_reviewed})
    return known


def _known(*row: Any) -> KnownRecord:
    pk, content, import_id, line, has_review, is_sampled, *others = row
    first_import_id, first_line, seen, *human = others
    values = dict(zip(HUMAN_FIELDS, human, strict=True))
    scores = values["human_corrected_scores"]
    values["human_corrected_scores"] = orjson.loads(scores) if scores else None
    status = values["human_review_status"]
    is_confirmed = has_review and keeps_line(has_review=True, is_sampled=is_sampled, status=status)
    if is_sampled and not has_review:
        values["human_review_status"] = NOT_REQUIRED
    return KnownRecord(
        pk,
        bytes(content),
        import_id,
        line,
        is_reviewed=has_review and not is_confirmed,
        is_sampled=is_sampled,
        is_confirmed=is_confirmed,
        first_import_id=first_import_id,
        first_line=first_line,
        seen_in_line=seen,
        human=values,
    )


def _add_overruled(reviewed: dict[int, KnownRecord]) -> None:
    # A separate query after locking: it sees conflicts that were resolved while this import waited.
    if reviewed:
        kept = FileConflict.objects.filter(evaluation__in=reviewed, outcome=FileConflict.Outcome.OURS)
        for pk, line_hash in kept.values_list("evaluation_id", "content_hash"):
            reviewed[pk].overruled.add(bytes(line_hash))


def reconcile(incoming: IncomingRecord, known: KnownRecord, kept_lines: LineReader) -> Reconciled:
    """Decide the outcome of a line whose id is known. Changes nothing."""
    if known.seen_in_line:
        reason = f"is already in line {known.seen_in_line}"
        return Reconciled(incoming.line, Outcome.REJECTED, "evaluation_id", reason, None)
    if incoming.content_hash == known.content_hash:
        return Reconciled(incoming.line, Outcome.UNCHANGED, "", "the same bytes as before", known.pk)
    place = (known.source_import_id, known.source_line)
    before = kept_lines.verified_record(*place, incoming.evaluation_id, known.content_hash)
    after = incoming.record_as_in(kept_lines.mapping(known.source_import_id), known.source_line)
    changed = list(_changed_fields(before, after))
    if _is_of_other_judge(incoming, before, changed):
        return _of_other_judge(incoming, known, before)
    return _settle_changed(incoming, known, changed)


def _settle_changed(incoming: IncomingRecord, known: KnownRecord, changed: list[str]) -> Reconciled:
    record, number = incoming.record, incoming.line
    if not changed:
        reason = "has the same values, spelled differently"
        return Reconciled(number, Outcome.UPDATED, "", reason, known.pk, takes=incoming)
    has_new_evidence = any(name not in HUMAN_FIELDS for name in changed)
    decides = any(name in HUMAN_FIELDS for name in changed) and not _has_current_decision(record, known)
    if not has_new_evidence and not decides:
        return Reconciled(number, Outcome.UNCHANGED, "", "has the current decision", known.pk)
    # One changed field is named in its own place, several in the reason.
    named, several = (changed[0], "") if len(changed) == 1 else ("", ", ".join(changed) + " ")
    if known.is_reviewed:
        return _settle_reviewed(
            incoming, known, named, several, has_new_evidence=has_new_evidence, decides=decides
        )
    reason = f"{several}taken from the file"
    values: dict[str, Any] = {"values": record}
    if known.is_sampled:
        values = _still_sampled(record, known, has_new_evidence=has_new_evidence)
    return Reconciled(number, Outcome.UPDATED, named, reason, known.pk, takes=incoming, **values)


def file_is_of_other_judge(done: Import, accepted: int) -> bool:
    """Whether all known records of a file are by another judge. New ones must not be mixed with the run's.

    Lines with the same evidence as the run's look like those of a renamed judge.
    """
    if not done.of_other_judge:
        return False
    renamed = done.exceptions.filter(outcome=ImportLine.Outcome.UPDATED, field=_JUDGE)
    return accepted == done.new + renamed.count()


def _is_of_other_judge(incoming: IncomingRecord, before: Record, changed: list[str]) -> bool:
    """Whether a line is another judge's evaluation. The same evaluation by a renamed judge is an update."""
    has_other_evidence = any(name not in {*HUMAN_FIELDS, _JUDGE} for name in changed)
    return has_other_evidence and incoming.record.judge_llm_model != before.judge_llm_model


def _of_other_judge(incoming: IncomingRecord, known: KnownRecord, before: Record) -> Reconciled:
    given, judge = (one.judge_llm_model[:_LONGEST_JUDGE] for one in (incoming.record, before))
    reason = (
        f"is {given!r}, but this run has the evaluation by {judge!r}: "
        "import the file of another judge as a run of its own"
    )
    return Reconciled(incoming.line, Outcome.REJECTED, _JUDGE, reason, known.pk)


def _still_sampled(record: Record, known: KnownRecord, *, has_new_evidence: bool) -> dict[str, Any]:
    """Return the fields of `Reconciled` for a random sample without corrections.

    New evidence puts the record back into the queue. If the file flags or decides the record, it is no
    longer a sample.
    """
    is_sampled = record.human_review_status == NOT_REQUIRED and not record.needs_human_review
    is_confirmed = is_sampled and known.is_confirmed and not has_new_evidence
    if is_sampled and not is_confirmed:
        record = record._replace(human_review_status=TRANSITIONS["sample", NOT_REQUIRED])
    return {
        "values": record,
        "is_sampled": is_sampled,
        "keeps_review": is_confirmed,
        "reopens": known.human if known.is_confirmed and not is_confirmed else None,
    }


def _settle_reviewed(
    incoming: IncomingRecord,
    known: KnownRecord,
    named: str,
    several: str,
    *,
    has_new_evidence: bool,
    decides: bool,
) -> Reconciled:
    """Keep the review: outdated by new evidence, in conflict with a different decision."""
    disputed = decides and incoming.content_hash not in known.overruled
    if not has_new_evidence and not disputed:
        reason = "has a decision that a lead has rejected: the review made here is kept"
        return Reconciled(incoming.line, Outcome.UNCHANGED, "", reason, known.pk)
    review = f"the review by {known.human['human_reviewer_id'] or 'nobody named'}"
    if not has_new_evidence:
        reason = f"{several}changed in the file: {review} is kept until a lead resolves the conflict"
        return Reconciled(incoming.line, Outcome.CONFLICT, named, reason, known.pk, disputes=incoming)
    values = _with_kept_decision(incoming.record, known)
    reason = f"{several}taken from the file: {review} is kept, but outdated"
    if disputed:
        kept = f"{review} is kept until a lead resolves the conflict"
        reason = f"{several}changed in the file: its evidence is taken, {kept}"
    return Reconciled(
        line=incoming.line,
        outcome=Outcome.CONFLICT if disputed else Outcome.UPDATED,
        field=named,
        reason=reason,
        evaluation=known.pk,
        takes=incoming,
        values=values,
        is_sampled=known.is_sampled and not values.needs_human_review,
        is_outdated=values.human_review_status in QUEUE_STATUSES,
        reopens=known.human if values.human_review_status != known.human["human_review_status"] else None,
        disputes=incoming if disputed else None,
    )


def _with_kept_decision(record: Record, known: KnownRecord) -> Record:
    """Return the record with the current decision made here, and the status after new evidence."""
    before = known.human["human_review_status"]
    status = TRANSITIONS.get(("new evidence", before), before)
    return record._replace(**known.human | {"human_review_status": status})


def _has_current_decision(record: Record, known: KnownRecord) -> bool:
    """Whether a line has the current decision made here. An outdated or reopened decision was done before."""
    differing = [name for name in HUMAN_FIELDS if not _same(getattr(record, name), known.human[name])]
    is_open = known.is_reviewed and known.human["human_review_status"] in QUEUE_STATUSES
    was_done = is_open and record.human_review_status in DONE_STATUSES
    return not differing or (was_done and differing == ["human_review_status"])


def _changed_fields(before: Record, after: Record) -> Iterator[str]:
    """Yield the fields with different values, and the differing members of the task context."""
    for name in Record._fields:
        if name != "task_context" and not _same(getattr(before, name), getattr(after, name)):
            yield name
    old_context, new_context = before.task_context or {}, after.task_context or {}
    for member in CONTEXT_FIELDS:
        if not _same(old_context.get(member), new_context.get(member)):
            yield member


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, too, where 1, 1.0 and true differ."""
    if not isinstance(one, dict | list):
        return bool(one == other)
    return bool(one == other) and sorted_json(one) == sorted_json(other)
