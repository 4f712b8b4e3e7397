"""Import a file in one transaction: every line is accounted for, and the file itself is stored.

Lines are parsed chunk by chunk in other processes. New records are inserted by COPY, known ones are
reconciled (`reconcile`), and every line that did not become a new record gets a row in `import_line`.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.utils import timezone

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import execute, fetch_one
from reviews.imports import parser_pool
from reviews.imports.batches import make_batches
from reviews.imports.bulk_insert import insert_evaluations, insert_import_lines, reserve_keys
from reviews.imports.bulk_update import apply_updates
from reviews.imports.exception_groups import LineGroup, group_exceptions
from reviews.imports.import_index import ImportIndex
from reviews.imports.parsing import ParsedLines, ParseRequest
from reviews.imports.recognition import open_text
from reviews.imports.reconcile import (
    IncomingRecord,
    KnownRecord,
    Reconciled,
    file_is_of_other_judge,
    find_known_records,
    reconcile,
)
from reviews.imports.rejection_limit import RejectionLimit
from reviews.imports.repeats import count_repeats, repeats_of
from reviews.imports.runs import check_open, get_or_create_run
from reviews.models import Import, ImportLine, Run, User
from reviews.records.mapping import FieldMapping
from reviews.records.rubric import Rubric
from reviews.records.wording import counted
from reviews.review.rubric_changes import follow_rubric
from reviews.rubric import inference
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.sampling import draws
from reviews.search import indexing
from reviews.storage import chunks, integrity, source_files
from reviews.storage.chunks import BOM, Chunk, ChunkLines, MeteredStream
from reviews.storage.errors import ImportRefused
from reviews.storage.integrity import ContentTotals
from reviews.storage.line_reader import LineReader, declared_mapping, source_mapping
from reviews.storage.source_text import SourceText
from reviews.storage.unchanged_ranges import RangeMerger

# Called after each chunk with the bytes imported so far, and the number of lines by outcome.
Progress = Callable[[int, dict[str, int]], None]

# Foreign keys are checked chunk by chunk, while the parser works, and not at the end while it is idle. Events
# are still sealed at the end: no other commit waits for a whole import.
CHECK_AT_ONCE = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED"
_WRITTEN = """
    SELECT (SELECT count(*) FROM evaluation WHERE first_import_id = %(import)s),
           coalesce(sum(lines) FILTER (WHERE outcome = 'unchanged'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'updated'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'conflict'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'rejected'), 0)::bigint
    FROM import_line WHERE source_id = %(import)s
"""


class NothingImported(ImportRefused):
    """No line was accepted, the file is another judge's, or a line of a strict import was rejected."""

    def __init__(self, source: Import, import_lines: list[ImportLine], groups: list[LineGroup]) -> None:
        super().__init__(_why_nothing(source))
        self.source = source
        #: The rejected lines, unsaved.
        self.import_lines = import_lines
        #: The same lines, grouped.
        self.groups = groups

    def listed_exceptions(self) -> Iterator[dict[str, Any]]:
        """As `Import.listed_exceptions`."""
        for line in self.import_lines:
            yield from line.listed()


def _why_nothing(source: Import) -> str:
    if source.of_other_judge:
        return (
            f"{source.of_other_judge:,} of {source.lines:,} lines are another judge's evaluations of records "
            "in this run, so nothing was imported. Import the file as a run of its own."
        )
    if source.rejected:
        invalid = f"{source.rejected:,} of {counted(source.lines, 'line')}"
        return f"{invalid} {'is' if source.rejected == 1 else 'are'} invalid, so nothing was imported."
    return "The file has only blank lines, so nothing was imported."


class Incomplete(Exception):
    """Rows that an import wrote are missing: its transaction was cut short and must not commit."""


class Cancelled(Exception):
    """Raised by a `Progress` to cancel the import and roll it back."""


def import_stream(
    *,
    blocks: Iterable[bytes],
    run_name: str,
    file_name: str,
    actor: User | None,
    strict: bool = False,
    mapping: FieldMapping | None = None,
    rubric: Rubric | None = None,
    progress: Progress | None = None,
) -> Import:
    """Import a file in the caller's transaction and return the finished import.

    The lines are read with `mapping`, or else with the run's mapping. A given rubric becomes the run's.
    Raises `ImportRefused`, `NothingImported` and `Cancelled`. After an error, and after a dry run, the caller
    must roll back.
    """
    run = get_or_create_run(name=run_name, mapping=mapping, actor=actor)
    before = None
    if rubric:
        # In the order of the end of an import, where the verdicts follow: no records are locked after that.
        locks.acquire(Lock.IMPORT)
        indexing.lock_before_run()
        before = run_rubric(Run.objects.get(pk=run.pk))
        run = declare_rubric(run_id=run.pk, actor=actor, rubric=rubric)
    new_import = create_import(run=run, run_name=run.name, file_name=file_name, strict=strict, actor=actor)
    stream, totals = MeteredStream(blocks), ContentTotals()
    text = open_source(new_import, stream)
    stored = source_files.store_chunks(new_import, chunks.read_ahead(cut_chunks(text)), totals)
    if text.path is not None:
        # Expressions may need the text after the list of records.
        store_rest(new_import, text, stored)
        stored = source_files.stored_chunks(new_import)
    index = ImportIndex(new_import)
    _FileImport(new_import, index).run(stored, progress)
    new_import.size, new_import.sha256 = stream.size, stream.sha256
    _finish(new_import, totals, index, document_sha256=text.document_sha256, before=before)
    return new_import


def create_import(
    *,
    run: Run | None,
    run_name: str,
    file_name: str,
    strict: bool,
    actor: User | None,
    mapping: FieldMapping | None = None,
) -> Import:
    """Create the row of an import, queued. Without a run, the import creates it."""
    return Import.objects.create(
        run=run,
        run_name=run_name,
        file_name=clean_file_name(file_name),
        strict=strict,
        created_by=actor,
        mapping=mapping.as_json() if mapping else None,
    )


def open_source(source: Import, blocks: Iterable[bytes]) -> SourceText:
    """Open the file of an import, which is read by its mapping.

    Raises `ImportRefused`, and `ToolRecognised` for an archive of a known tool without a mapping.
    """
    mapping = declared_mapping(source)
    text = open_text(blocks, mapping)
    if text.path is not None:
        records_path = mapping.records if mapping and text.path else ""
        source.records_path, source.is_archive = text.pattern or records_path, text.is_archive
    return text


def cut_chunks(text: SourceText) -> Iterator[Chunk]:
    """Cut the lines of a file into chunks. Raises `ImportRefused`."""
    return chunks.cut_chunks(text, line_bytes=settings.LIMITS.line_bytes)


def store_rest(source: Import, text: SourceText, stored: Iterator[Chunk]) -> None:
    """Store the chunks of a file that are not stored yet, and the text of a document around its list."""
    for _ in stored:
        pass
    if text.path is not None:
        source_files.store_surroundings(source, text.surroundings)
        source.save(update_fields=["records_path", "is_archive"])


def import_chunks(
    *, upload: Import, stored: Iterable[Chunk], totals: ContentTotals, progress: Progress | None
) -> None:
    """Import stored chunks into the run of an upload, created if necessary. Raises as `import_stream`."""
    if upload.run is None:
        mapping = declared_mapping(upload)
        upload.run = get_or_create_run(name=upload.run_name, mapping=mapping, actor=upload.created_by)
    check_open(upload.run)
    index = ImportIndex(upload)
    _FileImport(upload, index).run(stored, progress, total=upload.progress.size)
    _finish(upload, totals, index)


def import_again(done: Import) -> None:
    """Import the stored file of a finished import again, after its rows were removed.

    The caller checks foreign keys, indexes the records, and records the result. Raises `ImportRefused`.
    """
    _FileImport(done, None).run(source_files.stored_chunks(done), None, checks_at_once=False)
    _check_written(done)
    done.save()


def clean_file_name(name: str) -> str:
    """Return the last part of a path, without unprintable characters and at most 255 characters long."""
    printable = "".join(character for character in PurePath(name).name if character.isprintable())
    return printable[-255:] or "file"


def _finish(
    done: Import,
    totals: ContentTotals,
    index: ImportIndex,
    *,
    document_sha256: str = "",
    before: Rubric | None = None,
) -> None:
    """Complete an import, or raise `NothingImported`. `before` is the earlier rubric if one was given."""
    accepted = done.lines - done.rejected - done.blank
    if not accepted or file_is_of_other_judge(done, accepted) or (done.strict and done.rejected):
        raise NothingImported(done, list(done.exceptions.order_by("line")), group_exceptions(done))
    _check_written(done)
    # A trigger assigns the import's place among the run's files. `Lock.IMPORT` keeps other imports waiting.
    done.state, done.finished_at = Import.State.DONE, timezone.now()
    done.save()
    integrity.record_content(done, totals, document_sha256=document_sha256)
    integrity.record_result(done)
    events.record(
        "import", actor=done.created_by, run=done.run, source=done, sha256=done.sha256, counts=done.counts
    )
    indexing.lock_before_run()
    before = before or run_rubric(done.target_run)
    inference.infer_rubric(done.target_run)
    index.finish()
    draws.draw_after_import(done)
    follow_rubric(done.target_run, before, except_for=done)


def _check_written(done: Import) -> None:
    """Compare the counts in memory with the rows in the database. Raises `Incomplete`."""
    row = fetch_one(_WRITTEN, {"import": done.pk})
    counted = [done.new, done.unchanged, done.updated, done.conflicts, done.rejected]
    if row is None or list(row) != counted:
        raise Incomplete(f"Counted {counted} new, unchanged, updated, ... lines, but wrote {row}.")


class _FileImport:
    """The state of one import while its file is read."""

    def __init__(self, target: Import, index: ImportIndex | None) -> None:
        self._target, self._index = target, index
        self._mapping = source_mapping(target)
        self._reader = LineReader()
        self._limit = RejectionLimit(settings.MAX_REJECTED_LINES, is_mapped=self._mapping is not None)
        self._ranges = RangeMerger()
        for name in (*target.counts, "of_other_judge"):
            setattr(target, name, 0)

    def run(
        self,
        stored: Iterable[Chunk],
        progress: Progress | None,
        *,
        total: float = math.inf,
        checks_at_once: bool = True,
    ) -> None:
        """Import the chunks of a file, whose total size is given if it is known."""
        locks.acquire(Lock.IMPORT)
        if checks_at_once:
            execute(CHECK_AT_ONCE)
        repeats = repeats_of(self._target, self._mapping)
        size = 0
        batches = make_batches(stored, most_lines=settings.MAX_REJECTED_LINES, total=total)
        cores = parser_pool.usable_cores()
        with closing(parser_pool.parse_ahead(batches, self._request, cores=cores)) as parsed_batches:
            for lines, parsed in parsed_batches:
                if lines.chunk.number == 0:
                    self._target.has_bom = lines.chunk.data.startswith(BOM)
                self._limit.look_at(lines)
                new = self._import_batch(lines, parsed)
                if self._index:
                    self._index.add(lines, parsed, new)
                count_repeats(repeats, lines, parsed, new)
                size += len(lines.chunk.data)
                if progress:
                    progress(size, self._target.counts)
        self._limit.finish()
        self._target.repeated_lines = repeats.count

    def _request(self, lines: ChunkLines) -> ParseRequest:
        return ParseRequest(
            lines.text,
            lines.chunk.first_line,
            lines.chunk.lines,
            lines.begins_inside,
            self._target.target_run.pk,
            self._target.pk,
            reserve_keys(lines.chunk.lines),
            settings.LIMITS,
            self._mapping,
            self._target.is_document,
            self._index.next_rubric(lines, self._mapping) if self._index else None,
        )

    def _incoming(self, lines: ChunkLines, parsed: ParsedLines) -> list[IncomingRecord]:
        rows = memoryview(parsed.rows)
        return [
            IncomingRecord(*record, rows[start:end], lines, mapping=self._mapping)
            for record, (start, end) in zip(parsed.records, pairwise([0, *parsed.ends]), strict=True)
        ]

    def _import_batch(self, lines: ChunkLines, parsed: ParsedLines) -> set[int]:
        """Import a batch of lines. Return the line numbers of new records."""
        target = self._target
        incoming = self._incoming(lines, parsed)
        noted = [self._rejected(line, field, reason) for line, field, reason in parsed.errors]
        known = find_known_records(target, incoming) if incoming else {}
        new: dict[str, IncomingRecord] = {}
        reconciled: list[Reconciled] = []
        for record in incoming:
            if earlier := new.get(record.evaluation_id):
                repeated = f"is already in line {earlier.line}"
                noted.append(self._rejected(record.line, "evaluation_id", repeated))
            elif (row := known.get(record.evaluation_id)) is None:
                new[record.evaluation_id] = record
            else:
                reconciled.append(reconcile(record, row, self._reader))
                row.seen_in_line = row.seen_in_line or record.line
                noted.append(self._note(reconciled[-1], row))
        blank = len(lines) - len(incoming) - len(parsed.errors)
        rejected = [line for line in noted if line.outcome == ImportLine.Outcome.REJECTED]
        invalid = [line for line in rejected if not line.evaluation_id]
        self._limit.count(
            good=len(incoming) + len(parsed.errors) - len(invalid),
            blank=blank,
            rejected=((line.line, line.field, line.reason) for line in invalid),
        )
        insert_evaluations(new.values())
        if reconciled:
            apply_updates(target, reconciled)
        insert_import_lines(self._ranges.merge(noted))
        target.lines += len(lines)
        target.blank += blank
        target.of_other_judge += len(rejected) - len(invalid)
        self._count(len(new), noted)
        return {record.line for record in new.values()}

    def _note(self, reconciled: Reconciled, row: KnownRecord) -> ImportLine:
        noted = ImportLine(
            source=self._target,
            line=reconciled.line,
            outcome=reconciled.outcome,
            field=reconciled.field,
            reason=reconciled.reason,
        )
        if reconciled.outcome == ImportLine.Outcome.UNCHANGED:
            noted.first_import_id, noted.first_line = row.first_import_id, row.first_line
        else:
            noted.evaluation_id = reconciled.evaluation
        return noted

    def _rejected(self, line: int, field: str, reason: str) -> ImportLine:
        return ImportLine(
            source=self._target, line=line, outcome=ImportLine.Outcome.REJECTED, field=field, reason=reason
        )

    def _count(self, new: int, noted: list[ImportLine]) -> None:
        target = self._target
        target.new += new
        for line in noted:
            name = "conflicts" if line.outcome == ImportLine.Outcome.CONFLICT else str(line.outcome)
            setattr(target, name, getattr(target, name) + 1)
