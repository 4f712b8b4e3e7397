"""Read single lines of stored source files, and store unchanged lines as ranges."""

import datetime as dt
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

import zstandard
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, When

from reviews.database.statements import binary_rows
from reviews.models import Evaluation, Import, ImportLine, ImportSums, SourceChunk
from reviews.records import mapping
from reviews.records.expressions import plain_path
from reviews.records.mapping import FieldMapping, Outside
from reviews.records.schema import NO_LIMITS, LineError, Record
from reviews.records.translation import read_line
from reviews.storage import integrity, source_files
from reviews.storage.chunks import ChunkLines, split_lines
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, SourceFile
from reviews.storage.json_document import on_one_line
from reviews.storage.source_files import decode_chunk
from reviews.storage.source_text import read_archive_document, read_document


def declared_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run. An import into a new run has the mapping itself."""
    wanted = source.run.mapping if source.run else source.mapping
    return mapping.mapping_from_json(wanted) if wanted else None


def source_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run with the values of the import, or None without a mapping."""
    read = declared_mapping(source)
    if read is None:
        return None
    if not isinstance(source.created_at, dt.datetime):  # a new row, before its default was read
        source.refresh_from_db(fields=["created_at"])
    received_at = source.created_at.isoformat(timespec="microseconds")
    document = None
    if read.uses_document and source.is_archive and read.archive:
        around = source_files.stored_surroundings(source)
        document = read_archive_document(around, read.archive.document, NO_LIMITS)
    elif read.uses_document and source.records_path and not source.is_archive:
        around = source_files.stored_surroundings(source)
        document = read_document(around, plain_path(source.records_path), NO_LIMITS)
    return read.of_import(
        Outside(
            file=source.file_name,
            source_id=source.pk,
            run=source.run_name,
            received_at=received_at,
            document=document,
        )
    )


def stored_line(evaluation: Evaluation) -> bytes:
    """Return the stored line of a record, without LF and byte order mark. Raises as `LineReader.verified`.

    The member of a document is on one line.
    """
    reader = LineReader()
    line = reader.verified(*_newest(evaluation))
    return on_one_line(line) if reader.source(evaluation.source_import_id).is_document else line


def stored_record(evaluation: Evaluation) -> Record:
    """Parse the stored line of a record. Raises as `LineReader.verified_record`."""
    return LineReader().verified_record(*_newest(evaluation))


def _newest(evaluation: Evaluation) -> tuple[int, int, str, bytes]:
    place = (evaluation.source_import_id, evaluation.source_line)
    return *place, evaluation.evaluation_id, bytes(evaluation.content_hash)


def line_has_record(line: bytes, evaluation_id: str, mapping: FieldMapping | None) -> bool:
    if b'"%b"' % evaluation_id.encode() in line:
        return True
    try:
        return read_line(line, mapping=mapping).evaluation_id == evaluation_id
    except LineError:
        return False


def wrong_line_message(line: int) -> str:
    """Return the message about a line without the record that was imported from it."""
    return f"line {line:,} does not contain the record that belongs there"


class _StoredLines(NamedTuple):
    source_id: int
    lines: ChunkLines

    def has(self, source_id: int, line: int) -> bool:
        return self.source_id == source_id and 0 <= line - self.lines.chunk.first_line < len(self.lines)

    def at(self, line: int) -> bytes:
        return self.lines[line - self.lines.chunk.first_line]


class LineReader:
    """Read stored lines of any import. Lines near a recently read one cost no query."""

    _CACHED_CHUNKS = 4

    def __init__(self) -> None:
        self._recent: list[_StoredLines] = []
        self._sources: dict[int, tuple[Import, FieldMapping | None]] = {}

    def line(self, source_id: int, line: int) -> bytes:
        """Return the line as imported, without LF (and byte order mark).

        Raises `SourceChunk.DoesNotExist` for a line that the file never had, and `CorruptData`.
        """
        return self._read(source_id, line).at(line)

    def verified(self, source_id: int, line: int, evaluation_id: str, line_hash: bytes) -> bytes:
        """Return the line of a record.

        Raises the errors of `line`, and `CorruptData` for another record's line or another version.
        """
        try:
            found = self.line(source_id, line)
        except SourceChunk.DoesNotExist:
            if not ImportSums.objects.filter(source=source_id).exists():
                raise
        else:
            source, mapping = self._read_source(source_id)
            is_version = content_hash(found, is_member=source.is_document) == line_hash
            if is_version and line_has_record(found, evaluation_id, mapping):
                return found
        source = Import.objects.select_related("run").get(pk=source_id)
        raise CorruptData(SourceFile.of_import(source).rows_fault(wrong_line_message(line)))

    def record(self, source_id: int, line: int) -> Record:
        """Parse the record in the line. Raises as `line`, and `LineError` if the line is not a record."""
        return read_line(self.line(source_id, line), mapping=self.mapping(source_id), number=line)

    def verified_record(self, source_id: int, line: int, evaluation_id: str, line_hash: bytes) -> Record:
        """Parse the line of a record. Raises as `verified`, and `LineError` if the line is not a record."""
        found = self.verified(source_id, line, evaluation_id, line_hash)
        return read_line(found, mapping=self.mapping(source_id), number=line)

    def source(self, source_id: int) -> Import:
        """Return an import with its run."""
        return self._read_source(source_id)[0]

    def mapping(self, source_id: int) -> FieldMapping | None:
        """Return the mapping that the lines of an import are read with."""
        return self._read_source(source_id)[1]

    def _read_source(self, source_id: int) -> tuple[Import, FieldMapping | None]:
        if source_id not in self._sources:
            source = Import.objects.select_related("run").get(pk=source_id)
            recent = list(self._sources.items())[1 - self._CACHED_CHUNKS :]
            self._sources = {**dict(recent), source_id: (source, source_mapping(source))}
        return self._sources[source_id]

    def _read(self, source_id: int, line: int) -> _StoredLines:
        for read in self._recent:
            if read.has(source_id, line):
                return read
        read = _read_at(source_id, line)
        self._recent = [read, *self._recent[: self._CACHED_CHUNKS - 1]]
        return read


def _read_at(source_id: int, line: int) -> _StoredLines:
    rows = (
        SourceChunk.objects.filter(source_id=source_id, first_line__lte=line, lines__gt=0)
        .annotate(run_name=F("source__run__name"), name=F("source__file_name"))
        .order_by("first_line", "number")
    )
    with binary_rows():
        row = rows.last()
    if row is None or line >= row.first_line + row.lines:
        if integrity.has_line(source_id, line):
            source = Import.objects.select_related("run").get(pk=source_id)
            fault = SourceFile.of_import(source).bytes_fault(f"the frame with line {line:,} is missing")
            raise CorruptData(fault)
        raise SourceChunk.DoesNotExist
    file = SourceFile(row.run_name, source_id, row.name)
    [lines] = split_lines([decode_chunk(row, file, zstandard.ZstdDecompressor())])
    return _StoredLines(source_id, lines)


UNCHANGED = ImportLine.Outcome.UNCHANGED


class RangeMerger:
    """Merge consecutive unchanged lines of an import into ranges.

    A file that is imported again is mostly unchanged. A row per unchanged line would let the table grow with
    every import.
    """

    def __init__(self) -> None:
        # The last range that was returned.
        self._last: ImportLine | None = None

    def merge(self, noted: Iterable[ImportLine]) -> list[ImportLine]:
        """Return the rows to insert for a batch of lines, after extending the last range."""
        rows: list[ImportLine] = []
        for row in sorted(noted, key=attrgetter("line")):
            if rows and _continues(rows[-1], row):
                rows[-1].lines += row.lines
            else:
                rows.append(row)
        return [row for row in rows if not self._extends_last(row)]

    def _extends_last(self, row: ImportLine) -> bool:
        """Extend the last range by the row. Return False if the row begins a new range."""
        if row.outcome != UNCHANGED:
            return False
        last = self._last
        if last is None or not _continues(last, row):
            self._last = row
            return False
        last.lines += row.lines
        ImportLine.objects.filter(source=last.source_id, line=last.line).update(lines=last.lines)
        return True


def _continues(before: ImportLine, row: ImportLine) -> bool:
    """Whether a row is the next unchanged line, and its record was imported right after that of `before`."""
    return (
        row.outcome == before.outcome == UNCHANGED
        and (row.field, row.reason) == (before.field, before.reason)
        and row.line == before.line + before.lines
        and row.first_import_id == before.first_import_id
        and row.first_line == (before.first_line or 0) + before.lines
    )


def line_in_import(source: Import) -> Subquery:
    """Return a subquery for evaluations: the record's unchanged line in an import, or null."""
    behind = F("line") + OuterRef("first_line") - F("first_line")
    is_inside = {"first_line__gt": OuterRef("first_line") - F("lines")}
    # The ranges do not overlap, so the one that begins last before the record is the only candidate.
    candidates = ImportLine.objects.filter(
        source=source, first_import=OuterRef("first_import"), first_line__lte=OuterRef("first_line")
    )
    return Subquery(candidates.order_by("-first_line").values(place=Case(When(**is_inside, then=behind)))[:1])


def ranges_of_record(evaluation: Evaluation) -> QuerySet[ImportLine]:
    """Return the ranges that contain a record, at most one for each import of its run."""
    candidates = ImportLine.objects.filter(
        source=OuterRef("pk"),
        first_import=evaluation.first_import_id,
        first_line__lte=evaluation.first_line,
    )
    found = Subquery(candidates.order_by("-first_line").values("pk")[:1])
    ranges = Import.objects.filter(run=evaluation.run_id).annotate(range=found).values("range")
    return ImportLine.objects.filter(
        pk__in=ranges.exclude(range=None), first_line__gt=evaluation.first_line - F("lines")
    )


def narrow_to_record(row: ImportLine, evaluation: Evaluation) -> ImportLine:
    """Narrow the row of a range to the line of one record."""
    row.line += evaluation.first_line - (row.first_line or 0)
    row.lines, row.first_line = 1, evaluation.first_line
    return row
