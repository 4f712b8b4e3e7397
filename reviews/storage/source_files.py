"""Store the bytes of imported files as zstd frames, one for each chunk.

Each frame has a checksum over its bytes and its place in the file. Every read verifies the checksum, and a
read to the end verifies the totals of the whole file (`integrity`), so damaged bytes are never returned.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import zstandard
from django.db import connection

from reviews.database.statements import binary_rows
from reviews.models import Import, SourceChunk
from reviews.storage import integrity
from reviews.storage.chunks import Chunk, map_ahead
from reviews.storage.corruption import CorruptData, SourceFile
from reviews.storage.frames import LEVEL
from reviews.storage.integrity import ContentTotals
from reviews.storage.json_document import Surroundings

_ROWS_PER_QUERY = 8
# The numbers of the chunks with the text of a document before and after its list of records.
_SURROUNDINGS = (-2, -1)
# The columns before the frame, in the form hashed by the trigger of `source_chunk`.
_place = struct.Struct("!qiqii").pack
_COPY_CHUNK = """
    COPY source_chunk (source_id, number, first_line, lines, size, frame, digest)
    FROM STDIN (FORMAT BINARY)
"""
_CHUNK_TYPES = ["int8", "int4", "int8", "int4", "int4", "bytea", "bytea"]


def store_chunks(source: Import, chunks: Iterable[Chunk], totals: ContentTotals) -> Iterator[Chunk]:
    """Store chunks while passing them on, and add them to `totals`.

    A thread compresses each chunk while the consumer works on it.
    """
    compressor = zstandard.ZstdCompressor(level=LEVEL)

    def row(chunk: Chunk) -> tuple[int | bytes, ...]:
        frame = compressor.compress(chunk.data)
        place = (source.pk, chunk.number, chunk.first_line, chunk.lines, len(chunk.data))
        digest = _digest(place, frame)
        totals.add(digest, len(chunk.data), chunk.lines)
        return *place, frame, digest

    with ThreadPoolExecutor(1, "compress") as pool:
        for chunk in chunks:
            stored = pool.submit(row, chunk)
            yield chunk
            with connection.cursor() as cursor, cursor.copy(_COPY_CHUNK) as copy:
                copy.set_types(_CHUNK_TYPES)
                copy.write_row(stored.result())


def _digest(place: tuple[int, int, int, int, int], frame: bytes) -> bytes:
    """Return the checksum of a row: SHA-256 over the columns before the frame and the frame."""
    digest = hashlib.sha256(_place(*place))
    digest.update(frame)
    return digest.digest()


def store_surroundings(source: Import, around: Surroundings) -> None:
    """Store the text of a document around its list of records."""
    for number, text in zip(_SURROUNDINGS, around, strict=True):
        frame = zstandard.compress(text)
        SourceChunk.objects.create(
            source=source, number=number, first_line=0, lines=0, size=len(text), frame=frame
        )


def stored_surroundings(source: Import) -> Surroundings:
    """Return the text of a document around its list of records. Raises `CorruptData`."""
    file, decompressor = SourceFile.of_import(source), zstandard.ZstdDecompressor()
    rows = {row.number: row for row in source.chunks.filter(number__in=_SURROUNDINGS)}
    if len(rows) < len(_SURROUNDINGS):
        raise CorruptData(file.bytes_fault("the text around its list of records is missing"))
    return Surroundings(*(decode_chunk(rows[number], file, decompressor).data for number in _SURROUNDINGS))


def stored_chunks(source: Import, totals: ContentTotals | None = None) -> Iterator[Chunk]:
    """Yield the stored chunks in file order and add each to `totals`.

    A thread decompresses the next chunk ahead of the consumer. Raises `CorruptData` in place of a damaged
    chunk, and at the end if chunks are missing.
    """
    file, totals, decompressor = (
        SourceFile.of_import(source),
        totals or ContentTotals(),
        zstandard.ZstdDecompressor(),
    )

    def read(row: SourceChunk) -> Chunk:
        chunk = decode_chunk(row, file, decompressor)
        totals.add(bytes(row.digest or b""), len(chunk.data), chunk.lines)
        return chunk

    def rows() -> Iterator[SourceChunk]:
        for number, row in enumerate(chunk_rows(source)):
            if row.number != number:
                raise CorruptData(file.bytes_fault("it is missing", number))
            yield row

    yield from map_ahead(read, rows())
    integrity.verify_content(file, totals)


def chunk_rows(source: Import) -> Iterator[SourceChunk]:
    """Yield the rows in order, a few per query: a cursor would stay open after its transaction failed."""
    last = -1
    while rows := _rows_after(source, last):
        yield from rows
        last = rows[-1].number


def _rows_after(source: Import, number: int) -> list[SourceChunk]:
    with binary_rows():
        return list(source.chunks.filter(number__gt=number).order_by("number")[:_ROWS_PER_QUERY])


def decode_chunk(row: SourceChunk, file: SourceFile, decompressor: zstandard.ZstdDecompressor) -> Chunk:
    """Decompress the chunk in a row. Raises `CorruptData` unless frame and columns match the checksum."""
    frame = bytes(row.frame)
    place = (row.source_id, row.number, row.first_line, row.lines, row.size)
    if _digest(place, frame) != row.digest:
        raise CorruptData(file.bytes_fault("it does not match its checksum", row.number))
    try:
        data = decompressor.decompress(frame, max_output_size=row.size)
    except zstandard.ZstdError as error:
        raise CorruptData(file.bytes_fault(f"it cannot be decompressed ({error})", row.number)) from error
    if len(data) != row.size:
        problem = f"it decompresses to {len(data):,} of {row.size:,} bytes"
        raise CorruptData(file.bytes_fault(problem, row.number))
    return Chunk(row.number, row.first_line, row.lines, data, frame)
