"""The kept file: the bytes of an import, as zstd frames of about 1 MiB cut on line ends.

A line is what stands between two LF, whatever else it holds. A line longer than the limit is
never held whole in memory: it is cut in pieces of its own and read back as `OVERLONG`.

Each frame has a checksum over its bytes and its place in the file. Every read verifies it, and a read to the
end verifies the sums of the whole file (`kept_sums`), so that no damaged byte is handed out.
"""

import hashlib
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, NamedTuple, TypeVar, overload

import zstandard
from django.db import connection
from django.db.models import F

from reviews.models import Evaluation, Import, ImportSums, SourceChunk
from reviews.records import mapping
from reviews.records.mapping import FieldMapping, read_line
from reviews.records.schema import LineError, Record
from reviews.storage import integrity
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, SourceFile
from reviews.storage.integrity import ContentTotals

BLOCK_SIZE = 1024**2
BOM = b"\xef\xbb\xbf"
OVERLONG = b"\0overlong"  # no line of JSON starts like this
# A third faster on real records than level 3, and the frames are 4 of 100 larger.
_LEVEL = 1
_CHUNKS_A_QUERY = 4
# The columns before the frame, in the form that the trigger of `source_chunk` hashes them in.
_place = struct.Struct("!qiqii").pack


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a file: whole lines, or a part of one overlong line.

    `first_line` counts from 1; `lines` is how many lines end in it (the last line of the file
    ends there with or without a line end).
    """

    number: int
    first_line: int
    lines: int
    data: bytes

    @property
    def breaks_off(self) -> bool:
        """Whether the piece ends in the middle of an overlong line."""
        return not self.data.endswith(b"\n") and self.lines == self.data.count(b"\n")


class ImportRefused(Exception):
    """The import as a whole cannot be; the reason is a sentence, `field` what it is about: file or run."""

    def __init__(self, reason: str, field: str = "file") -> None:
        super().__init__(reason)
        self.field = field


class MeteredStream:
    """Passes blocks on and measures them: `size` in bytes, `sha256` in hexadecimal."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self._hash = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self._hash.update(block)
            self.size += len(block)
            yield block

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def read_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Read a binary file in blocks of 1 MiB."""
    while block := file.read(BLOCK_SIZE):
        yield block


def cut_chunks(blocks: Iterable[bytes], *, line_bytes: int) -> Iterator[Chunk]:
    """Cut a stream into pieces of a block or a little more.

    Memory stays within a line of `line_bytes` and two blocks. Raises `ImportRefused` for UTF-16.
    """
    number, line, pending = 0, 1, b""
    breaks_off = False
    for block in blocks:
        pending += block
        if number == 0:
            _refuse_utf16(pending)
        end = pending.rfind(b"\n") + 1
        if not end and len(pending) > line_bytes:
            end = len(pending)
        if end and len(pending) >= BLOCK_SIZE:
            piece = Chunk(number, line, pending.count(b"\n", 0, end), pending[:end])
            yield piece
            number, line, pending = number + 1, line + piece.lines, pending[end:]
            breaks_off = piece.breaks_off
    if pending or breaks_off:
        yield Chunk(number, line, pending.count(b"\n") + (not pending.endswith(b"\n")), pending)


def _refuse_utf16(start: bytes) -> None:
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{", b"[\0", b"\0[")):
        raise ImportRefused("The file is UTF-16. Save it as UTF-8 and import it again.")


class ChunkLines(Sequence[bytes]):
    """The lines that end in a piece, without LF, split when they are asked for.

    `OVERLONG` stands for a line that was cut. A byte order mark at the start of the file is not part of
    the first line.
    """

    def __init__(self, piece: Chunk, *, begins_inside: bool) -> None:
        self.piece = piece
        self.begins_inside = begins_inside

    @property
    def text(self) -> bytes:
        """What is to be split, so many line ends away."""
        return self.piece.data if self.piece.number else self.piece.data.removeprefix(BOM)

    @cached_property
    def _lines(self) -> list[bytes]:
        lines = self.text.split(b"\n", self.piece.lines)[: self.piece.lines]
        if lines and self.begins_inside:
            lines[0] = OVERLONG
        return lines

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        return self._lines[place]

    def __len__(self) -> int:
        return self.piece.lines


def split_lines(pieces: Iterable[Chunk]) -> Iterator[ChunkLines]:
    """Yield the lines that end in each piece."""
    inside = False
    for piece in pieces:
        yield ChunkLines(piece, begins_inside=inside)
        inside = piece.breaks_off


_T = TypeVar("_T")


def read_ahead(items: Iterable[_T]) -> Iterator[_T]:
    """Get the next item in a thread while the one before is with the consumer."""
    end = object()
    iterator = iter(items)
    with ThreadPoolExecutor(1, "read") as pool:
        item = pool.submit(next, iterator, end)
        while (read := item.result()) is not end:
            item = pool.submit(next, iterator, end)
            yield read  # type: ignore[misc]


_COPY_CHUNK = """
    COPY source_chunk (source_id, number, first_line, lines, size, frame, digest)
    FROM STDIN (FORMAT BINARY)
"""
_CHUNK_TYPES = ["int8", "int4", "int8", "int4", "int4", "bytea", "bytea"]


def store_chunks(source: Import, pieces: Iterable[Chunk], text: ContentTotals) -> Iterator[Chunk]:
    """Store the pieces as they pass, and add them to `text`: in a thread while each is with the consumer."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL)

    def row(piece: Chunk) -> tuple[int | bytes, ...]:
        frame = compressor.compress(piece.data)
        place = (source.pk, piece.number, piece.first_line, piece.lines, len(piece.data))
        digest = _digest(place, frame)
        text.add(digest, len(piece.data), piece.lines)
        return *place, frame, digest

    with ThreadPoolExecutor(1, "compress") as pool:
        for piece in pieces:
            stored = pool.submit(row, piece)
            yield piece
            with connection.cursor() as cursor, cursor.copy(_COPY_CHUNK) as copy:
                copy.set_types(_CHUNK_TYPES)
                copy.write_row(stored.result())


def _digest(place: tuple[int, int, int, int, int], frame: bytes) -> bytes:
    """The checksum of a chunk, over its columns before the frame and the frame."""
    digest = hashlib.sha256(_place(*place))
    digest.update(frame)
    return digest.digest()


def stored_chunks(source: Import, text: ContentTotals | None = None) -> Iterator[Chunk]:
    """The stored pieces in file order, each added to `text`.

    A thread decompresses the next one ahead of the consumer. Raises `CorruptData` instead of a damaged
    piece, and at the end if pieces are missing.
    """
    kept, text, decompressor = (
        SourceFile.of_import(source),
        text or ContentTotals(),
        zstandard.ZstdDecompressor(),
    )

    def read(chunk: SourceChunk) -> Chunk:
        piece = decode_chunk(chunk, kept, decompressor)
        text.add(bytes(chunk.digest or b""), len(piece.data), piece.lines)
        return piece

    waiting: deque[Future[Chunk]] = deque()
    with ThreadPoolExecutor(1, "decompress") as pool:
        for number, chunk in enumerate(chunk_rows(source)):
            if chunk.number != number:
                raise CorruptData(kept.bytes_fault("it is missing", number))
            waiting.append(pool.submit(read, chunk))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    integrity.verify_content(kept, text)


def chunk_rows(source: Import) -> Iterator[SourceChunk]:
    """The chunks in order, by a query for a few: a cursor would stay open behind a broken transaction."""
    last = -(2**31)
    while chunks := source.chunks.filter(number__gt=last).order_by("number")[:_CHUNKS_A_QUERY]:
        yield from chunks
        last = chunks[len(chunks) - 1].number


def stored_line(evaluation: Evaluation) -> bytes:
    """The stored line of a record, without LF and byte order mark. Raises as `LineReader.verified`."""
    return LineReader().verified(*_newest(evaluation))


def stored_record(evaluation: Evaluation) -> Record:
    """The record in its stored line. Raises as `LineReader.verified`, and `LineError` if it holds none."""
    return LineReader().verified_record(*_newest(evaluation))


def _newest(evaluation: Evaluation) -> tuple[int, int, str, bytes]:
    place = (evaluation.source_import_id, evaluation.source_line)
    return *place, evaluation.evaluation_id, bytes(evaluation.content_hash)


def line_has_record(line: bytes, evaluation_id: str, mapping: FieldMapping | None) -> bool:
    """Whether a line holds the record of that id."""
    if b'"%b"' % evaluation_id.encode() in line:
        return True
    try:
        return read_line(line, mapping=mapping).evaluation_id == evaluation_id
    except LineError:
        return False


def wrong_line_message(line: int) -> str:
    """Describe a line that is not the one its record was read from."""
    return f"line {line:,} does not hold the record that belongs there"


class _Read(NamedTuple):
    """The lines that end in a stored piece of an import, and how they are read."""

    source_id: int
    lines: ChunkLines
    mapping: FieldMapping | None

    def has(self, source_id: int, line: int) -> bool:
        return self.source_id == source_id and 0 <= line - self.lines.piece.first_line < len(self.lines)

    def at(self, line: int) -> bytes:
        return self.lines[line - self.lines.piece.first_line]


class LineReader:
    """Reads stored lines one by one, of any import. One beside a line read lately costs no query."""

    _PIECES = 4

    def __init__(self) -> None:
        self._lately: list[_Read] = []

    def line(self, source_id: int, line: int) -> bytes:
        """The line as it came, without LF (and byte order mark).

        Raises `SourceChunk.DoesNotExist` for a line that the file never had, and `CorruptData`.
        """
        return self._read(source_id, line).at(line)

    def verified(self, source_id: int, line: int, evaluation_id: str, line_hash: bytes) -> bytes:
        """The line of a record. Raises as `line`, and `CorruptData` if it is another's or another version."""
        try:
            found = self.line(source_id, line)
        except SourceChunk.DoesNotExist:
            if not ImportSums.objects.filter(source=source_id).exists():
                raise
        else:
            if content_hash(found) == line_hash and line_has_record(
                found, evaluation_id, self._mapping(source_id, line)
            ):
                return found
        source = Import.objects.select_related("run").get(pk=source_id)
        raise CorruptData(SourceFile.of_import(source).rows_fault(wrong_line_message(line)))

    def record(self, source_id: int, line: int) -> Record:
        """The record in the line. Raises as `line`, and `LineError` if it holds none."""
        return read_line(self.line(source_id, line), mapping=self._mapping(source_id, line))

    def verified_record(self, source_id: int, line: int, evaluation_id: str, line_hash: bytes) -> Record:
        """The record in its line. Raises as `verified`, and `LineError` if it holds none."""
        found = self.verified(source_id, line, evaluation_id, line_hash)
        return read_line(found, mapping=self._mapping(source_id, line))

    def _mapping(self, source_id: int, line: int) -> FieldMapping | None:
        return self._read(source_id, line).mapping

    def _read(self, source_id: int, line: int) -> _Read:
        for read in self._lately:
            if read.has(source_id, line):
                return read
        read = _read_at(source_id, line)
        self._lately = [read, *self._lately[: self._PIECES - 1]]
        return read


def _read_at(source_id: int, line: int) -> _Read:
    chunk = (
        SourceChunk.objects.filter(source_id=source_id, first_line__lte=line, lines__gt=0)
        .annotate(
            mapping=F("source__run__mapping"), run_name=F("source__run__name"), name=F("source__file_name")
        )
        .order_by("first_line", "number")
        .last()
    )
    if chunk is None or line >= chunk.first_line + chunk.lines:
        if integrity.has_line(source_id, line):
            source = Import.objects.select_related("run").get(pk=source_id)
            raise CorruptData(
                SourceFile.of_import(source).bytes_fault(f"the frame with line {line:,} is missing")
            )
        raise SourceChunk.DoesNotExist
    kept = SourceFile(chunk.run_name, source_id, chunk.name)
    [lines] = split_lines([decode_chunk(chunk, kept, zstandard.ZstdDecompressor())])
    return _Read(source_id, lines, mapping.mapping_from_json(chunk.mapping) if chunk.mapping else None)


def decode_chunk(chunk: SourceChunk, kept: SourceFile, decompressor: zstandard.ZstdDecompressor) -> Chunk:
    """The piece in a chunk. Raises `CorruptData` unless frame and columns match the checksum."""
    frame = bytes(chunk.frame)
    place = (chunk.source_id, chunk.number, chunk.first_line, chunk.lines, chunk.size)
    if _digest(place, frame) != chunk.digest:
        raise CorruptData(kept.bytes_fault("it does not match its checksum", chunk.number))
    try:
        data = decompressor.decompress(frame, max_output_size=chunk.size)
    except zstandard.ZstdError as error:
        raise CorruptData(kept.bytes_fault(f"it cannot be unpacked ({error})", chunk.number)) from error
    if len(data) != chunk.size:
        what = f"it unpacks to {len(data):,} of {chunk.size:,} bytes"
        raise CorruptData(kept.bytes_fault(what, chunk.number))
    return Chunk(chunk.number, chunk.first_line, chunk.lines, data)
