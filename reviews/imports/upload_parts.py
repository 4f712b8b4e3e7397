"""Store the parts of an upload: lines as chunks of the later source file, and any other file as it arrives.

So the last part of a file of lines only moves the chunks, which are cut and compressed already. The beginning
of a line at the end of a part waits for the next part.
"""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import zstandard
from django.conf import settings
from django.db import connection

from reviews.database.statements import fetch_all
from reviews.models import Import, Upload, UploadPart
from reviews.storage.chunks import BLOCK_SIZE, BOM, Chunk
from reviews.storage.frames import compress
from reviews.storage.integrity import ContentTotals

_COPY = 'COPY upload_part (upload_id, "offset", lines, data) FROM STDIN (FORMAT BINARY)'
_TYPES = ["uuid", "int8", "int4", "bytea"]
_MOVE = """
    WITH moved AS (
        INSERT INTO source_chunk (source_id, number, first_line, lines, size, frame)
        SELECT %(source)s, row_number() OVER place - 1, 1 + sum(lines) OVER place - lines, lines,
               lead("offset", 1, %(size)s) OVER place - "offset", data
        FROM upload_part WHERE upload_id = %(upload)s
        WINDOW place AS (ORDER BY "offset")
        RETURNING number, digest, size, lines
    )
    SELECT digest, size, lines FROM moved ORDER BY number
"""


class _Row(NamedTuple):
    offset: int
    #: How many lines end in the text. None if it is no chunk.
    lines: int | None
    data: bytes


def store(upload: Upload, data: bytes, *, also: Iterable[partial[None]] = ()) -> None:
    """Store the part at the upload's offset. The caller saves `chunked`, and runs `also` meanwhile."""
    end = upload.offset + len(data)
    if not upload.offset:
        upload.chunked = 0 if _begins_lines(data) else None
    if upload.chunked is None or (end < upload.size and end - upload.chunked < BLOCK_SIZE):
        rows = [_Row(upload.offset, None, data)]
    else:
        rows = _cut(upload, data, is_last=end == upload.size)
    with ThreadPoolExecutor(2, "compress") as pool:
        others = [pool.submit(work) for work in also]
        frames = pool.map(compress, [row.data for row in rows])
        with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            copy.set_types(_TYPES)
            for row, frame in zip(rows, frames, strict=True):
                copy.write_row((upload.pk, row.offset, row.lines, frame))
    for other in others:
        other.result()


def _begins_lines(data: bytes) -> bool:
    """Return whether a file that begins like this may be lines of objects in UTF-8."""
    start = data[:16].removeprefix(BOM).lstrip()
    return start.startswith(b"{") and b"\0" not in start


def _cut(upload: Upload, data: bytes, *, is_last: bool) -> list[_Row]:
    """Cut the part, with the text before it that is not cut yet, into chunks. Set `chunked`."""
    assert upload.chunked is not None
    waiting = upload.parts.filter(offset__gte=upload.chunked).order_by("offset")
    text = b"".join([*(zstandard.decompress(bytes(part.data)) for part in waiting), data])
    waiting.delete()
    rows, start = [], 0
    while start < len(text):
        left = len(text) - start
        end = text.rfind(b"\n", start, start + BLOCK_SIZE if left >= 2 * BLOCK_SIZE else len(text)) + 1
        end = end or text.find(b"\n", start + BLOCK_SIZE) + 1 or (len(text) if is_last else 0)
        if not end:
            break
        piece = text[start:end]
        lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
        rows.append(_Row(upload.chunked + start, lines, piece))
        start = end
    if start < len(text):
        rows.append(_Row(upload.chunked + start, None, text[start:]))
    # A line that is too long is cut when the file is complete.
    longest = max([len(row.data) for row in rows if row.lines in {None, 1}], default=0)
    upload.chunked = None if longest > settings.LIMITS.line_bytes else upload.chunked + start
    return rows


def blocks(upload: Upload) -> Iterator[bytes]:
    """Yield the bytes of a complete upload."""
    for part in _parts(upload):
        for start in range(0, len(part.data), BLOCK_SIZE):
            yield part.data[start : start + BLOCK_SIZE]


def _parts(upload: Upload) -> Iterator[_Row]:
    for pk in list(upload.parts.order_by("offset").values_list("pk", flat=True)):
        part = UploadPart.objects.get(pk=pk)
        yield _Row(part.offset, part.lines, zstandard.decompress(bytes(part.data)))


class ChunkedUpload:
    """A complete upload whose parts are chunks of lines."""

    def __init__(self, upload: Upload, sha256: str | None) -> None:
        self._upload, self._sha256 = upload, sha256

    def chunks(self) -> Iterator[Chunk]:
        line = 1
        for number, part in enumerate(_parts(self._upload)):
            assert part.lines is not None
            yield Chunk(number, line, part.lines, part.data)
            line += part.lines

    def move(self, source: Import, totals: ContentTotals) -> None:
        """Make the chunks those of an import, with the size and the checksum of the file."""
        source.size, source.sha256 = self._upload.size, self._sha256 or self._read_sha256()
        values = {"source": source.pk, "upload": str(self._upload.pk), "size": source.size}
        for digest, size, lines in fetch_all(_MOVE, values):
            totals.add(bytes(digest), size, lines)

    def _read_sha256(self) -> str:
        digest = hashlib.sha256()
        for block in blocks(self._upload):
            digest.update(block)
        return digest.hexdigest()
