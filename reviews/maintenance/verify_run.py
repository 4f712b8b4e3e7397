"""Check everything that is kept of a run: frames, sums, every line and every finished export. Reads only."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import zstandard
from django.db.models import Q

from reviews.database.held_transaction import HeldTransaction
from reviews.exports import jobs
from reviews.exports.jsonl import use_snapshot
from reviews.imports.runs import run_mapping
from reviews.models import Evaluation, Export, ExportPart, Import, ImportSums, Run
from reviews.records.mapping import FieldMapping
from reviews.storage import integrity
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, Fault, SourceFile
from reviews.storage.integrity import ContentTotals
from reviews.storage.source_files import (
    Chunk,
    ChunkLines,
    chunk_rows,
    decode_chunk,
    line_has_record,
    wrong_line_message,
)

_SHOWN_LINES = 20


@dataclass
class VerificationCounts:
    """How much was checked, for a summary."""

    runs: int = 0
    imports: int = 0
    frames: int = 0
    lines: int = 0
    exports: int = 0


def verify_run(run: Run, checked: VerificationCounts) -> Iterator[Fault]:
    """Check a run as of one moment, whatever people do meanwhile; memory does not grow with it."""
    checked.runs += 1
    with HeldTransaction():
        use_snapshot()
        recorded = {source.pk for source in integrity.run_imports(run)}
        sources = Import.objects.filter(Q(run=run) | Q(pk__in=recorded)).select_related("run").order_by("pk")
        for source in sources:
            checked.imports += 1
            yield from integrity.import_faults(source)
            with closing(_KeptFile(source, checked)) as kept:
                yield from kept.faults()
        for export in run.exports.filter(state=Export.State.DONE).select_related("run").order_by("pk"):
            checked.exports += 1
            yield from _faults_of_export(export)


def _faults_of_export(export: Export) -> Iterator[Fault]:
    try:
        for _ in jobs.stored_range(export, ExportPart.Kind.FILE, 0, export.size - 1):
            pass
        for _ in jobs.stored_receipt(export):
            pass
    except CorruptData as damaged:
        yield damaged.fault


class _Row(NamedTuple):
    """A row about a line: a record, or without `evaluation_id` a noted line.

    `content_hash` is the expected hash of the line, empty if the record has a newer line elsewhere. Exactly
    one row with `accounts` belongs to each line that is not blank.
    """

    line: int
    accounts: bool
    evaluation_id: str = ""
    content_hash: bytes = b""


class _KeptFile:
    """One import on its way through the check."""

    def __init__(self, source: Import, checked: VerificationCounts) -> None:
        self._source, self._checked = source, checked
        self._kept, self._mapping = SourceFile.of_import(source), run_mapping(source.run)
        self._text, self._hash = ContentTotals(), hashlib.sha256()
        self._rows = _rows(source) if source.state == Import.State.DONE else None
        self._next = next(self._rows, None) if self._rows else None
        self._is_whole = True
        self._wrong_lines = 0

    def close(self) -> None:
        if self._rows:
            self._rows.close()

    def faults(self) -> Iterator[Fault]:
        number, inside = 0, False
        decompressor = zstandard.ZstdDecompressor()
        for chunk in chunk_rows(self._source):
            if (gap := chunk.number - number) > 0:
                what = "it is missing" if gap == 1 else f"it and the next {gap - 1:,} are missing"
                yield self._broken(self._kept.bytes_fault(what, number))
            number = chunk.number + 1
            self._checked.frames += 1
            try:
                piece = decode_chunk(chunk, self._kept, decompressor)
            except CorruptData as damaged:
                yield self._broken(damaged.fault)
                continue
            self._text.add(bytes(chunk.digest or b""), len(piece.data), piece.lines)
            yield from self._lines(piece, begins_inside=inside)
            inside = piece.breaks_off
        yield from self._end()

    def _broken(self, fault: Fault) -> Fault:
        self._is_whole = False
        return fault

    def _lines(self, piece: Chunk, *, begins_inside: bool) -> Iterator[Fault]:
        self._hash.update(piece.data)
        self._checked.lines += piece.lines
        if self._rows is None:
            return
        lines = ChunkLines(piece, begins_inside=begins_inside)
        for what in _wrong(lines, self._rows_to(piece), self._mapping, is_whole=self._is_whole):
            self._wrong_lines += 1
            if self._wrong_lines <= _SHOWN_LINES:
                yield self._kept.rows_fault(what)

    def _rows_to(self, piece: Chunk) -> list[_Row]:
        """The next rows, up to the last line that ends in the piece."""
        rows: list[_Row] = []
        while self._rows and self._next and self._next.line < piece.first_line + piece.lines:
            rows.append(self._next)
            self._next = next(self._rows, None)
        return rows

    def _end(self) -> Iterator[Fault]:
        if self._is_whole:
            try:
                integrity.verify_content(self._kept, self._text)
            except CorruptData as damaged:
                yield self._broken(damaged.fault)
            sums = ImportSums.objects.filter(source=self._source).first()
            if sums and sums.text_sha256 not in {"", self._hash.hexdigest()}:
                yield self._kept.bytes_fault("its SHA-256 is not that of the file which came")
        if self._is_whole and self._next:
            yield self._kept.rows_fault(f"a row is about line {self._next.line:,}, which is not there")
        more = self._wrong_lines - _SHOWN_LINES
        if more > 0:
            yield self._kept.rows_fault(f"{more:,} more lines are wrong")


def _rows(source: Import) -> Generator[_Row, None, None]:
    """Yield all rows about lines of an import, ordered by line."""
    place = ("first_line", "evaluation_id", "source_import_id", "source_line", "content_hash")
    brought = Evaluation.objects.filter(run=source.run_id, first_import=source).order_by("first_line")
    changed = (
        Evaluation.objects.filter(run=source.run_id, source_import=source)
        .exclude(first_import=source)
        .order_by("source_line")
    )
    noted = source.exceptions.order_by("line").values_list("line", "lines")
    rows = (
        (
            _Row(line, True, evaluation_id, _expected(source, line, *newest))  # noqa: FBT003
            for line, evaluation_id, *newest in brought.values_list(*place).iterator()
        ),
        (
            _Row(line, False, evaluation_id, bytes(line_hash))  # noqa: FBT003
            for line, evaluation_id, line_hash in changed.values_list(
                "source_line", "evaluation_id", "content_hash"
            ).iterator()
        ),
        (
            _Row(number, accounts=True)
            for line, lines in noted.iterator()
            for number in range(line, line + lines)
        ),
    )
    with ExitStack() as stack:
        for each in rows:
            stack.enter_context(closing(each))
        yield from heapq.merge(*rows, key=attrgetter("line"))


def _expected(source: Import, line: int, newest_import: int, newest_line: int, line_hash: bytes) -> bytes:
    """The hash that a line must have which brought a record: none if another import has a newer version."""
    if newest_import != source.pk:
        return b""
    return bytes(line_hash) if newest_line == line else b"elsewhere in this file"


def _wrong(
    lines: ChunkLines, rows: list[_Row], mapping: FieldMapping | None, *, is_whole: bool
) -> Iterator[str]:
    """Compare the lines of a piece with the rows about them, and yield each fault."""
    first = lines.piece.first_line
    here = [row for row in rows if row.line >= first]
    if is_whole:
        yield from (
            f"a row is about line {row.line:,}, which is not there" for row in rows if row.line < first
        )
    for row in here:
        line = lines[row.line - first]
        is_other = row.content_hash and content_hash(line) != row.content_hash
        if row.evaluation_id and (is_other or not line_has_record(line, row.evaluation_id, mapping)):
            yield wrong_line_message(row.line)
    accounted = Counter(row.line for row in here if row.accounts)
    for number, line in enumerate(lines, start=first):
        if accounted[number] != bool(line.strip()):
            yield f"line {number:,} is accounted for by {accounted[number]} rows"
