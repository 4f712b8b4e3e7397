"""What a file brings: every line accounted for, all of it or nothing, and the file itself kept.

One import runs in one transaction. Lines are parsed piece by piece, in other processes; records whose
id is new go to `evaluation` by COPY, a known id is settled by `merge`, and everything that did not
become a new record is noted in `import_line`.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from cognireview.operations.disk_full import check_space
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import parser_pool
from reviews.imports.bulk_insert import insert_evaluations, insert_import_lines
from reviews.imports.bulk_update import apply_updates
from reviews.imports.reconcile import IncomingRecord, KnownRecord, Reconciled, find_known_records, reconcile
from reviews.imports.rejection_limit import (
    RejectionLimit,
    TooManyRejections,
    require_first_record,
    split_batches,
)
from reviews.imports.runs import get_or_create_run, run_mapping
from reviews.models import Import, ImportLine, ImportProgress, User
from reviews.records.mapping import FieldMapping
from reviews.records.schema import LineError
from reviews.records.shared_prefix import PrefixCounter, read_record_id
from reviews.rubric import inference
from reviews.sampling import draws
from reviews.search import indexing
from reviews.storage import decompression, integrity, source_files, unchanged_ranges
from reviews.storage.copy_encoding import RowKeys
from reviews.storage.integrity import ContentTotals
from reviews.storage.source_files import ImportRefused

# Told after each piece: the bytes imported so far, and what became of the lines in them.
Progress = Callable[[int, dict[str, int]], None]

JOB = "reviews.tasks.import_upload"

# Foreign keys are checked piece by piece, beside the parser, not all at the end while it idles.
# Events are sealed at the end all the same: nobody's commit is to wait for a whole import.
_CHECK_AT_ONCE = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED"


class StrictImportRefused(Exception):
    """A strict import met bad lines. Nothing is imported; `import_lines` (unsaved) say why."""

    def __init__(self, source: Import, import_lines: list[ImportLine]) -> None:
        super().__init__(f"{source.rejected:,} of {source.lines:,} lines are bad, so nothing was imported.")
        self.source = source
        self.import_lines = import_lines

    def listed_exceptions(self) -> Iterator[dict[str, Any]]:
        """As `Import.listed_exceptions`."""
        for line in self.import_lines:
            yield from line.listed()


_WRITTEN = """
    SELECT (SELECT count(*) FROM evaluation WHERE first_import_id = %(import)s),
           coalesce(sum(lines) FILTER (WHERE outcome = 'unchanged'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'updated'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'conflict'), 0)::bigint,
           coalesce(sum(lines) FILTER (WHERE outcome = 'rejected'), 0)::bigint
    FROM import_line WHERE source_id = %(import)s
"""


class Incomplete(Exception):
    """Rows of an import are missing that it wrote. Its transaction was cut short, and must not commit."""


class Cancelled(Exception):
    """For a `Progress` to raise: nothing of the import stays."""


def import_stream(
    blocks: Iterable[bytes],
    *,
    run_name: str,
    file_name: str,
    actor: User | None,
    strict: bool = False,
    mapping: FieldMapping | None = None,
    progress: Progress | None = None,
) -> Import:
    """Import a file in the transaction of the caller and return the finished import.

    Its lines are read by the `mapping`, or else as the run's are. Raises `ImportRefused` (the run, its
    mapping or the file as a whole), `StrictImportRefused` and `Cancelled`. In each case, and after a dry
    run, the caller's transaction must roll back.
    """
    run = get_or_create_run(run_name, mapping=mapping, actor=actor)
    new_import = Import.objects.create(
        run=run, file_name=clean_file_name(file_name), strict=strict, created_by=actor
    )
    meter, text = source_files.MeteredStream(blocks), ContentTotals()
    pieces = source_files.store_chunks(new_import, source_files.read_ahead(read_chunks(meter)), text)
    _Importing(new_import).run(pieces, progress)
    new_import.size, new_import.sha256 = meter.size, meter.sha256
    _finish(new_import, text)
    return new_import


@transaction.atomic
def store_upload(
    *, run_name: str, file_name: str, blocks: Iterable[bytes], strict: bool, actor: User
) -> Import:
    """Keep an uploaded file and enqueue its import. Raises `ImportRefused`, and `OSError` on a full disk."""
    check_space()
    upload = Import.objects.create(
        run=get_or_create_run(run_name, actor=actor),
        file_name=clean_file_name(file_name),
        strict=strict,
        created_by=actor,
    )
    meter, text = source_files.MeteredStream(blocks), ContentTotals()
    pieces = require_first_record(
        read_chunks(meter), settings.LIMITS, run_mapping(upload.run), settings.MAX_REJECTED_LINES
    )
    for _ in source_files.store_chunks(upload, pieces, text):
        pass
    ImportProgress.objects.create(source=upload, size=text.size)
    upload.size, upload.sha256 = meter.size, meter.sha256
    integrity.record_content(upload, text)
    upload.save(update_fields=["size", "sha256"])
    events.record(
        "upload", actor=actor, run=upload.run, source=upload, sha256=upload.sha256, size=upload.size
    )
    jobs.configure_task(JOB).defer(import_id=upload.pk)
    return upload


def read_chunks(blocks: Iterable[bytes]) -> Iterator[source_files.Chunk]:
    """Unpack a file and cut it."""
    lines = decompression.decompress(blocks, most=settings.MAX_UNPACKED_BYTES)
    return source_files.cut_chunks(lines, line_bytes=settings.LIMITS.line_bytes)


def import_upload(import_id: int, progress: Progress | None = None) -> None:
    """Import a file that was uploaded before: the work of the job. Twice is once. Raises `Cancelled`."""
    with transaction.atomic():
        # The row lock holds off a second worker; the state tells it that the work is done.
        upload = lock_import(import_id)
        if upload.state not in Import.UNFINISHED:
            return
        try:
            with transaction.atomic():
                text = ContentTotals()
                _Importing(upload).run(source_files.stored_chunks(upload, text), progress)
                _finish(upload, text)
        except StrictImportRefused as refusal:
            insert_import_lines(refusal.import_lines)
            _fail(upload, str(refusal))
        except TooManyRejections as refusal:
            # Such a file may be huge, and nobody wants it back.
            upload.chunks.all().delete()
            _fail(upload, str(refusal))
        except ImportRefused as refusal:
            _fail(upload, str(refusal))


def fail_upload(import_id: int, error: str) -> None:
    """Note that the job of an upload gave up; the kept file stays."""
    with transaction.atomic():
        upload = lock_import(import_id)
        if upload.state in Import.UNFINISHED:
            _fail(upload, error)


def lock_import(import_id: int) -> Import:
    """The import with its run, locked against other workers, but not against rows that refer to it."""
    imports = Import.objects.select_for_update(of=["self"], no_key=True).select_related("run")
    return imports.get(pk=import_id)


def clean_file_name(name: str) -> str:
    """The last part of a name, shortened from the front to what the column holds. Never a path to open."""
    printable = "".join(character for character in PurePath(name).name if character.isprintable())
    return printable[-255:] or "file"


def _finish(done: Import, text: ContentTotals) -> None:
    """Close an import that went through, or raise `StrictImportRefused`. `text` are the sums of its lines."""
    if done.strict and done.rejected:
        raise StrictImportRefused(done, list(done.exceptions.order_by("line")))
    _check_written(done)
    # A trigger gives it its place among the run's files now, while `Lock.IMPORT` keeps other imports waiting.
    done.state, done.finished_at = Import.State.DONE, timezone.now()
    done.save()
    integrity.record_content(done, text)
    integrity.record_result(done)
    events.record(
        "import", actor=done.created_by, run=done.run, source=done, sha256=done.sha256, counts=done.counts
    )
    indexing.lock_before_run(done)
    inference.learn(done.run)
    indexing.index_import(done)
    draws.draw_after_import(done)


def _check_written(done: Import) -> None:
    """Compare the counts in memory with the rows in the database. Raises `Incomplete`."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN, {"import": done.pk})
        row = cursor.fetchone()
    counted = [done.new, done.unchanged, done.updated, done.conflicts, done.rejected]
    if row is None or list(row) != counted:
        raise Incomplete(f"Counted {counted} new, unchanged, updated, ... lines, but wrote {row}.")


def _fail(failed: Import, error: str) -> None:
    failed.state, failed.error, failed.finished_at = Import.State.FAILED, error, timezone.now()
    failed.save()
    integrity.record_result(failed)
    events.record("import failed", actor=failed.created_by, run=failed.run, source=failed, error=error)


class _Importing:
    """The state of one import while it walks its file."""

    def __init__(self, target: Import) -> None:
        self._target = target
        self._mapping = run_mapping(target.run)
        self._kept_lines = source_files.LineReader()
        self._refusals = RejectionLimit(settings.MAX_REJECTED_LINES)
        self._ranges = unchanged_ranges.RangeMerger()
        for name in target.counts:
            setattr(target, name, 0)

    def run(self, pieces: Iterable[source_files.Chunk], progress: Progress | None) -> None:
        locks.acquire(Lock.IMPORT)
        with connection.cursor() as cursor:
            cursor.execute(_CHECK_AT_ONCE)
        repeats = _repeats_of(self._target, self._mapping)
        size = 0
        batches = split_batches(source_files.split_lines(pieces), settings.MAX_REJECTED_LINES)
        work = ((lines, self._work(lines)) for lines in batches)
        with closing(_parsed_ahead(work)) as parsed_ahead:
            for lines, parsed in parsed_ahead:
                if lines.piece.number == 0:
                    self._target.has_bom = lines.piece.data.startswith(source_files.BOM)
                new = self._take(lines, parsed)
                _count_repeats(repeats, lines, parsed, new)
                size += len(lines.piece.data)
                if progress:
                    progress(size, self._target.counts)
        self._target.repeated_lines = repeats.count

    def _work(self, lines: source_files.ChunkLines) -> parser_pool.ParseRequest:
        target = RowKeys(self._target.run_id, self._target.pk)
        piece = lines.piece
        return parser_pool.ParseRequest(
            lines.text,
            piece.first_line,
            piece.lines,
            lines.begins_inside,
            target,
            settings.LIMITS,
            self._mapping,
        )

    def _incoming(
        self, lines: source_files.ChunkLines, parsed: parser_pool.ParsedLines
    ) -> list[IncomingRecord]:
        rows = memoryview(parsed.rows)
        places = pairwise([0, *parsed.ends])
        return [
            IncomingRecord(*record, rows[start:end], lines, mapping=self._mapping)
            for record, (start, end) in zip(parsed.records, places, strict=True)
        ]

    def _take(self, lines: source_files.ChunkLines, parsed: parser_pool.ParsedLines) -> set[int]:
        """Import the lines of a piece; returns the numbers of those that are new records."""
        target = self._target
        incoming = self._incoming(lines, parsed)
        noted = [self._rejected(line, LineError(field, reason)) for line, field, reason in parsed.errors]
        known = find_known_records(target, incoming) if incoming else {}
        new: dict[str, IncomingRecord] = {}
        settled: list[Reconciled] = []
        for record in incoming:
            earlier = new.get(record.evaluation_id)
            if earlier:
                noted.append(self._repeated(record, earlier.line))
            elif (row := known.get(record.evaluation_id)) is None:
                new[record.evaluation_id] = record
            else:
                settled.append(self._settle(record, row))
                noted.append(self._note(settled[-1], row))
        blank = len(lines) - len(incoming) - len(parsed.errors)
        rejected = [line for line in noted if line.outcome == ImportLine.Outcome.REJECTED]
        self._refusals.take(
            good=len(incoming) + len(parsed.errors) - len(rejected),
            blank=blank,
            refused=((line.line, line.field, line.reason) for line in rejected),
        )
        insert_evaluations(new.values())
        if settled:
            apply_updates(target, settled)
        insert_import_lines(self._ranges.joined(noted))
        target.lines += len(lines)
        target.blank += blank
        self._count(len(new), noted)
        return {record.line for record in new.values()}

    def _settle(self, record: IncomingRecord, row: KnownRecord) -> Reconciled:
        settled = reconcile(record, row, self._kept_lines)
        row.seen_in_line = row.seen_in_line or record.line
        return settled

    def _note(self, settled: Reconciled, row: KnownRecord) -> ImportLine:
        noted = ImportLine(
            source=self._target,
            line=settled.line,
            outcome=settled.outcome,
            field=settled.field,
            reason=settled.reason,
        )
        if settled.outcome == ImportLine.Outcome.UNCHANGED:
            noted.first_import_id, noted.first_line = row.first_import_id, row.first_line
        else:
            noted.evaluation_id = settled.evaluation
        return noted

    def _rejected(self, line: int, error: LineError) -> ImportLine:
        return ImportLine(
            source=self._target,
            line=line,
            outcome=ImportLine.Outcome.REJECTED,
            field=error.field,
            reason=error.reason,
        )

    def _repeated(self, record: IncomingRecord, first: int) -> ImportLine:
        return self._rejected(record.line, LineError("evaluation_id", f"stands in line {first} already"))

    def _count(self, new: int, noted: list[ImportLine]) -> None:
        target = self._target
        target.new += new
        for line in noted:
            name = "conflicts" if line.outcome == ImportLine.Outcome.CONFLICT else str(line.outcome)
            setattr(target, name, getattr(target, name) + 1)


def _parsed_ahead(
    work: Iterable[tuple[source_files.ChunkLines, parser_pool.ParseRequest]],
) -> Generator[tuple[source_files.ChunkLines, parser_pool.ParsedLines], None, None]:
    """Parse batches of lines. Raises `ImportRefused` where processes died over one of them."""
    try:
        yield from parser_pool.parse_ahead(work, cores=parser_pool.usable_cores())
    except parser_pool.ParserDied as died:
        raise ImportRefused(str(died)) from died


def _count_repeats(
    repeats: PrefixCounter, lines: source_files.ChunkLines, parsed: parser_pool.ParsedLines, new: set[int]
) -> None:
    """Count those of the next lines of a file; `new` holds the numbers of those that are new records."""
    if repeats.ended:
        return
    held = {number: evaluation_id for number, evaluation_id, _ in parsed.records}
    bad = {number for number, _, _ in parsed.errors}
    for number, line in enumerate(lines, start=lines.piece.first_line):
        record = None if number in bad else held.get(number, "")
        overlong = line is source_files.OVERLONG or len(line) > settings.LIMITS.line_bytes
        if not repeats.take(line, record, new=number in new or overlong):
            return


def _repeats_of(target: Import, mapping: FieldMapping | None) -> PrefixCounter:
    """How the file of an import repeats those that the run has."""
    return PrefixCounter(
        map(_all_lines, target.run.files.reverse()), partial(read_record_id, settings.LIMITS, mapping)
    )


def _all_lines(kept: Import) -> Iterator[bytes]:
    for lines in source_files.split_lines(source_files.stored_chunks(kept)):
        yield from lines
