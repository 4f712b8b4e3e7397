"""Read single lines of stored source files."""

import datetime as dt
from typing import NamedTuple

import zstandard
from django.db.models import F

from reviews.database.statements import binary_rows
from reviews.models import Evaluation, Import, ImportSums, SourceChunk
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
        """Return the line (from 1) as imported, without its LF or a byte order mark.

        Raises `SourceChunk.DoesNotExist` for a line that the file never had, and `CorruptData` if what is
        stored of the file is damaged.
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
