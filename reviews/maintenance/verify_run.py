"""Verify all stored data of a run: frames, checksums, lines and finished exports."""

import hashlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import zstandard
from django.db.models import Q

from reviews.database.held_transaction import HeldTransaction
from reviews.exports.jsonl import use_snapshot
from reviews.exports.line_plan import merge_by_line
from reviews.exports.stored_files import Kind, stored_range, stored_receipt
from reviews.models import Evaluation, Export, Import, ImportSums, Run
from reviews.records.mapping import FieldMapping
from reviews.storage import integrity, source_files
from reviews.storage.chunks import Chunk, ChunkLines
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, Fault, SourceFile
from reviews.storage.integrity import ContentTotals
from reviews.storage.json_document import Rejoiner
from reviews.storage.line_reader import line_has_record, source_mapping, wrong_line_message
from reviews.storage.source_files import chunk_rows, decode_chunk

_SHOWN_LINES = 20


@dataclass
class VerificationCounts:
    """How much was verified."""

    runs: int = 0
    imports: int = 0
    frames: int = 0
    lines: int = 0
    exports: int = 0


def verify_run(run: Run, counts: VerificationCounts) -> Iterator[Fault]:
    """Yield the faults of a run in one snapshot. Memory does not grow with the run."""
    counts.runs += 1
    with HeldTransaction():
        use_snapshot()
        recorded = {source.pk for source in integrity.run_imports(run)}
        sources = Import.objects.filter(Q(run=run) | Q(pk__in=recorded)).select_related("run").order_by("pk")
        yield from _import_faults(sources, counts)
        for export in run.exports.filter(state=Export.State.DONE).select_related("run").order_by("pk"):
            counts.exports += 1
            yield from _export_faults(export)


def verify_imports_without_run(counts: VerificationCounts) -> Iterator[Fault]:
    """Yield the faults of unfinished and failed imports into new runs, in one snapshot."""
    with HeldTransaction():
        use_snapshot()
        yield from _import_faults(Import.objects.filter(run=None).order_by("pk"), counts)


def _import_faults(sources: Iterable[Import], counts: VerificationCounts) -> Iterator[Fault]:
    for source in sources:
        counts.imports += 1
        yield from integrity.import_faults(source)
        with closing(_FileVerification(source, counts)) as file:
            yield from file.faults()


def _export_faults(export: Export) -> Iterator[Fault]:
    try:
        for _ in stored_range(export, Kind.FILE, 0, export.size - 1):
            pass
        for _ in stored_receipt(export):
            pass
    except CorruptData as error:
        yield error.fault


class _Row(NamedTuple):
    """A row about a line: a record, or a row of `import_line`."""

    line: int
    #: Exactly one row with `accounts` belongs to each line that is not blank.
    accounts: bool
    #: Empty for a row of `import_line`.
    evaluation_id: str = ""
    #: The expected hash of the line. Empty if the record's newest line is in another file.
    content_hash: bytes = b""


class _FileVerification:
    """Verify one source file against the rows about it."""

    def __init__(self, source: Import, counts: VerificationCounts) -> None:
        self._source, self._counts = source, counts
        self._file = SourceFile.of_import(source)
        self._mapping: FieldMapping | None = None
        self._totals, self._hash = ContentTotals(), hashlib.sha256()
        self._rows = _rows(source) if source.state == Import.State.DONE else None
        self._next = next(self._rows, None) if self._rows else None
        self._is_whole = True
        self._wrong_lines = 0
        self._rejoiner: Rejoiner | None = None
        self._tail = b""

    def close(self) -> None:
        if self._rows:
            self._rows.close()

    def faults(self) -> Iterator[Fault]:
        number, inside = 0, False
        yield from self._begin_document()
        decompressor = zstandard.ZstdDecompressor()
        for row in chunk_rows(self._source):
            if (gap := row.number - number) > 0:
                problem = "it is missing" if gap == 1 else f"it and the next {gap - 1:,} are missing"
                yield self._broken(self._file.bytes_fault(problem, number))
            number = row.number + 1
            self._counts.frames += 1
            try:
                chunk = decode_chunk(row, self._file, decompressor)
            except CorruptData as error:
                yield self._broken(error.fault)
                continue
            self._totals.add(bytes(row.digest or b""), len(chunk.data), chunk.lines)
            yield from self._line_faults(chunk, begins_inside=inside)
            inside = chunk.breaks_off
        yield from self._final_faults()

    def _broken(self, fault: Fault) -> Fault:
        self._is_whole = False
        return fault

    def _line_faults(self, chunk: Chunk, *, begins_inside: bool) -> Iterator[Fault]:
        self._hash.update(self._rejoiner.take(chunk.data) if self._rejoiner else chunk.data)
        self._counts.lines += chunk.lines
        if self._rows is None:
            return
        lines = ChunkLines(chunk, begins_inside=begins_inside)
        for problem in _wrong_lines(
            lines,
            self._rows_to(chunk),
            self._mapping,
            is_document=self._source.is_document,
            is_whole=self._is_whole,
        ):
            self._wrong_lines += 1
            if self._wrong_lines <= _SHOWN_LINES:
                yield self._file.rows_fault(problem)

    def _rows_to(self, chunk: Chunk) -> list[_Row]:
        """Return the next rows, up to the last line that ends in the chunk."""
        rows: list[_Row] = []
        while self._rows and self._next and self._next.line < chunk.first_line + chunk.lines:
            rows.append(self._next)
            self._next = next(self._rows, None)
        return rows

    def _begin_document(self) -> Iterator[Fault]:
        """Read the mapping, and the text of a document around its list of records."""
        try:
            self._mapping = source_mapping(self._source)
            if self._source.is_document:
                head, self._tail = source_files.stored_surroundings(self._source)
                self._rejoiner = Rejoiner()
                self._hash.update(head)
        except CorruptData as error:
            yield self._broken(error.fault)

    def _final_faults(self) -> Iterator[Fault]:
        self._hash.update(self._tail)
        if self._is_whole:
            try:
                integrity.verify_content(self._file, self._totals)
            except CorruptData as error:
                yield self._broken(error.fault)
            sums = ImportSums.objects.filter(source=self._source).first()
            if sums and sums.text_sha256 not in {"", self._hash.hexdigest()}:
                yield self._file.bytes_fault("its SHA-256 is not that of the imported file")
        if self._is_whole and self._next:
            yield self._file.rows_fault(f"a row is about line {self._next.line:,}, which does not exist")
        more = self._wrong_lines - _SHOWN_LINES
        if more > 0:
            yield self._file.rows_fault(f"{more:,} more lines are wrong")


def _rows(source: Import) -> Generator[_Row, None, None]:
    """Return all rows about lines of an import, ordered by line."""
    place = ("first_line", "evaluation_id", "source_import_id", "source_line", "content_hash")
    inserted = Evaluation.objects.filter(run=source.run_id, first_import=source).order_by("first_line")
    updated = (
        Evaluation.objects.filter(run=source.run_id, source_import=source)
        .exclude(first_import=source)
        .order_by("source_line")
    )
    noted = source.exceptions.order_by("line").values_list("line", "lines")
    rows = (
        (
            _Row(line, True, evaluation_id, _expected(source, line, *newest))  # noqa: FBT003
            for line, evaluation_id, *newest in inserted.values_list(*place).iterator()
        ),
        (
            _Row(line, False, evaluation_id, bytes(line_hash))  # noqa: FBT003
            for line, evaluation_id, line_hash in updated.values_list(
                "source_line", "evaluation_id", "content_hash"
            ).iterator()
        ),
        (
            _Row(number, accounts=True)
            for line, lines in noted.iterator()
            for number in range(line, line + lines)
        ),
    )
    return merge_by_line(*rows)


def _expected(source: Import, line: int, newest_import: int, newest_line: int, line_hash: bytes) -> bytes:
    """Return the expected hash of a record's first line: empty if another import has a newer version."""
    if newest_import != source.pk:
        return b""
    return bytes(line_hash) if newest_line == line else b"elsewhere in this file"


def _wrong_lines(
    lines: ChunkLines, rows: list[_Row], mapping: FieldMapping | None, *, is_document: bool, is_whole: bool
) -> Iterator[str]:
    """Compare the lines of a chunk with the rows about them, and describe each fault."""
    first = lines.chunk.first_line
    here = [row for row in rows if row.line >= first]
    if is_whole:
        yield from (
            f"a row is about line {row.line:,}, which does not exist" for row in rows if row.line < first
        )
    for row in here:
        line = lines[row.line - first]
        is_other = row.content_hash and content_hash(line, is_member=is_document) != row.content_hash
        if row.evaluation_id and (is_other or not line_has_record(line, row.evaluation_id, mapping)):
            yield wrong_line_message(row.line)
    accounted = Counter(row.line for row in here if row.accounts)
    for number, line in enumerate(lines, start=first):
        if accounted[number] != bool(line.strip()):
            yield f"line {number:,} is accounted for by {accounted[number]} rows"
