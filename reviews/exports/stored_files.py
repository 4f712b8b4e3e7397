"""Store finished exports as frames in the database, and read any range of them.

Every web server can send a file that any worker built, starting at any byte. Each frame has a checksum over
its bytes and its place. The checksums are verified before a download begins and again while it is sent.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from functools import partial

import zstandard
from django.db import connection
from django.db.models import F, Max

from reviews.database.statements import binary_rows, fetch_all
from reviews.exports.receipt import END as END_OF_RECEIPT
from reviews.models import Export, ExportPart
from reviews.storage.chunks import MeteredStream, map_ahead
from reviews.storage.corruption import CorruptData, export_fault
from reviews.storage.frames import pack

PART_SIZE = 1024**2
Kind = ExportPart.Kind

_ROWS_PER_QUERY = 4
_COPY_PART = "COPY export_part (export_id, kind, number, start, size, frame) FROM STDIN (FORMAT BINARY)"
_PART_TYPES = ["int8", "varchar", "int4", "int8", "int4", "bytea"]
# The trigger of `export_part` hashes a row in this form.
_place = struct.Struct("!iqi").pack
_PARTS = """
    SELECT number, start, size,
           digest = sha256(int8send(export_id) || convert_to(kind, 'UTF8') || int4send(number)
                           || int8send(start) || int4send(size) || frame)
    FROM export_part
    WHERE export_id = %s AND kind = %s AND start <= %s AND start + size > %s
    ORDER BY number
"""


def store_parts(export: Export, kind: ExportPart.Kind, blocks: Iterable[bytes]) -> Iterator[int]:
    """Store a stream in parts of about `PART_SIZE`, and yield the number of each part once it is stored."""
    start = 0
    for number, part in enumerate(pack(blocks, PART_SIZE)):
        with connection.cursor() as cursor, cursor.copy(_COPY_PART) as copy:
            copy.set_types(_PART_TYPES)
            copy.write_row((export.pk, str(kind), number, start, *part))
        start += part.size
        yield number


def stored_range(export: Export, kind: ExportPart.Kind, first: int, last: int) -> Iterator[bytes]:
    """Return the bytes `first` to `last` (inclusive) of a stored file or receipt.

    Raises `CorruptData` at once for a damaged part, and before the last block if the SHA-256 of the whole
    file is wrong or the export was removed meanwhile.
    """
    numbers = _verified_parts(export, kind, first, last)
    if kind == Kind.FILE:
        _verify_size(export)
    blocks = (
        text[max(first - start, 0) : last + 1 - start] for start, text in _read_parts(export, kind, numbers)
    )
    is_whole = kind == Kind.FILE and first == 0 and last == export.size - 1
    return _verified_file(export, blocks) if is_whole else blocks


def stored_receipt(export: Export) -> Iterator[bytes]:
    """Return the receipt of a finished export in blocks. Raises `CorruptData` at once or while it is read."""
    size = _stored_size(export, Kind.RECEIPT)
    end = stored_range(export, Kind.RECEIPT, max(size - len(END_OF_RECEIPT), 0), size - 1)
    if b"".join(end) != END_OF_RECEIPT:
        raise CorruptData(export_fault(export, "the end of its receipt is missing"))
    return stored_range(export, Kind.RECEIPT, 0, size - 1)


def _verified_parts(export: Export, kind: ExportPart.Kind, first: int, last: int) -> range:
    """Return the numbers of the parts with these bytes.

    Raises `CorruptData` if one of them is missing or does not match its checksum. PostgreSQL computes the
    hashes.
    """
    numbers, end = range(0), first
    for number, start, size, is_intact in fetch_all(_PARTS, [export.pk, kind, last, first]):
        if not is_intact:
            raise CorruptData(export_fault(export, f"the {kind} does not match its checksum", number))
        if start > end:
            break
        numbers, end = range(numbers.start if numbers else number, number + 1), start + size
    if end <= last:
        raise CorruptData(export_fault(export, f"byte {end:,} of the {kind} is missing"))
    return numbers


def _read_parts(export: Export, kind: ExportPart.Kind, numbers: range) -> Iterator[tuple[int, bytes]]:
    """Yield the first byte and the text of each part."""

    def rows() -> Iterator[ExportPart]:
        for begin in range(numbers.start, numbers.stop, _ROWS_PER_QUERY):
            wanted = range(begin, min(begin + _ROWS_PER_QUERY, numbers.stop))
            with binary_rows():
                found = {part.number: part for part in export.parts.filter(kind=kind, number__in=wanted)}
            for number in wanted:
                if number not in found:
                    raise CorruptData(export_fault(export, f"the {kind} is missing there", number))
                yield found[number]

    return map_ahead(partial(_read_part, export), rows())


def _read_part(export: Export, part: ExportPart) -> tuple[int, bytes]:
    frame = bytes(part.frame)
    place = _place(part.number, part.start, part.size)
    digest = hashlib.sha256(part.export_id.to_bytes(8, signed=True) + part.kind.encode() + place)
    digest.update(frame)
    if digest.digest() != part.digest:
        problem = f"the {part.kind} does not match its checksum"
        raise CorruptData(export_fault(export, problem, part.number))
    try:
        return part.start, zstandard.decompress(frame)
    except zstandard.ZstdError as error:
        problem = f"the {part.kind} cannot be decompressed ({error})"
        raise CorruptData(export_fault(export, problem, part.number)) from error


def _stored_size(export: Export, kind: ExportPart.Kind) -> int:
    """Return the bytes of all parts, or 0 without parts."""
    end = export.parts.filter(kind=kind).aggregate(end=Max(F("start") + F("size")))["end"]
    return int(end or 0)


def _verify_size(export: Export) -> None:
    """Raise `CorruptData` unless the stored parts add up to the size of the file."""
    if _stored_size(export, Kind.FILE) != export.size:
        raise CorruptData(export_fault(export, f"the file does not have its {export.size:,} bytes"))
    if not export.size and export.sha256 != MeteredStream(()).sha256:
        raise CorruptData(export_fault(export, "the file does not match its SHA-256"))


def _verified_file(export: Export, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pass the blocks of a whole file on. The last one waits until the SHA-256 of the file is verified."""
    stream, held_back = MeteredStream(blocks), b""
    for block in stream:
        if held_back:
            yield held_back
        held_back = block
    if stream.sha256 != export.sha256:
        raise CorruptData(export_fault(export, "the file does not match its SHA-256"))
    yield held_back
