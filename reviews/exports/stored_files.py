"""Store finished exports as frames in the database, and read any range of them.

Every web server can send a file that any worker built, starting at any byte. Each frame has a checksum over
its bytes and its place. The checksums are verified before a download begins and again while it is sent.
"""

import hashlib
from collections.abc import Iterable, Iterator

import zstandard

from reviews.database.statements import fetch_all
from reviews.exports.receipt import END as END_OF_RECEIPT
from reviews.models import Export, ExportPart
from reviews.storage.chunks import MeteredStream
from reviews.storage.corruption import CorruptData, export_fault

PART_SIZE = 1024**2
Kind = ExportPart.Kind

# The trigger of `export_part` hashes a row in this form.
_DIGEST = "sha256(int8send(export_id) || convert_to(kind, 'UTF8') || int4send(number) || frame)"
_INTACT = f"""
    SELECT number FROM export_part
    WHERE export_id = %s AND kind = %s AND number BETWEEN %s AND %s AND digest = {_DIGEST}
"""  # noqa: S608 (a constant)


def store_parts(export: Export, kind: ExportPart.Kind, blocks: Iterable[bytes]) -> Iterator[ExportPart]:
    """Store a stream in parts of `PART_SIZE`, and yield each part once it is stored."""
    for number, part in enumerate(_parts(blocks)):
        frame = zstandard.compress(part)
        yield ExportPart.objects.create(export=export, kind=kind, number=number, frame=frame)


def _parts(blocks: Iterable[bytes]) -> Iterator[bytes]:
    pending = bytearray()
    for block in blocks:
        pending += block
        while len(pending) >= PART_SIZE:
            yield bytes(pending[:PART_SIZE])
            del pending[:PART_SIZE]
    if pending:
        yield bytes(pending)


def stored_range(export: Export, kind: ExportPart.Kind, first: int, last: int) -> Iterator[bytes]:
    """Return the bytes `first` to `last` (inclusive) of a stored file. Stops early if the export is removed.

    Raises `CorruptData` at once for a damaged part, and before the last block if the SHA-256 of the whole
    file is wrong.
    """
    first_part, last_part = first // PART_SIZE, last // PART_SIZE
    if last >= first:
        _verify_parts(export, kind, first_part, last_part)
    if kind == Kind.FILE:
        _verify_size(export)
    blocks = (
        _read_part(export, kind, number)[max(first - number * PART_SIZE, 0) : last + 1 - number * PART_SIZE]
        for number in range(first_part, last_part + 1)
    )
    is_whole = kind == Kind.FILE and first == 0 and last == export.size - 1
    return _verified_file(export, blocks) if is_whole else blocks


def stored_receipt(export: Export) -> Iterator[bytes]:
    """Return the receipt of a finished export in blocks. Raises `CorruptData` at once or while it is read."""
    count = export.parts.filter(kind=Kind.RECEIPT).count()
    _verify_parts(export, Kind.RECEIPT, 0, max(count - 1, 0))
    # The end of the receipt may be split over two parts.
    last = b"".join(_read_part(export, Kind.RECEIPT, number) for number in range(count)[-2:])
    if not last.endswith(END_OF_RECEIPT):
        raise CorruptData(export_fault(export, "the end of its receipt is missing"))
    return (_read_part(export, Kind.RECEIPT, number) for number in range(count))


def _verify_parts(export: Export, kind: ExportPart.Kind, first: int, last: int) -> None:
    """Raise `CorruptData` for the first of these parts that is missing or does not match its checksum.

    PostgreSQL computes the hashes.
    """
    intact = {number for (number,) in fetch_all(_INTACT, [export.pk, kind, first, last])}
    for number in range(first, last + 1):
        if number not in intact:
            raise CorruptData(
                export_fault(export, f"the {kind} is missing there or does not match its checksum", number)
            )


def _read_part(export: Export, kind: ExportPart.Kind, number: int) -> bytes:
    part = export.parts.filter(kind=kind, number=number).first()
    if part is None:
        raise CorruptData(export_fault(export, f"the {kind} is missing there", number))
    frame = bytes(part.frame)
    place = (
        part.export_id.to_bytes(8, signed=True) + part.kind.encode() + part.number.to_bytes(4, signed=True)
    )
    if hashlib.sha256(place + frame).digest() != part.digest:
        raise CorruptData(export_fault(export, f"the {kind} does not match its checksum", number))
    try:
        return zstandard.decompress(frame)
    except zstandard.ZstdError as error:
        raise CorruptData(
            export_fault(export, f"the {kind} cannot be decompressed ({error})", number)
        ) from error


def _verify_size(export: Export) -> None:
    """Raise `CorruptData` unless the stored parts add up to the size of the file."""
    parts, last = export.parts.filter(kind=Kind.FILE), max(export.size - 1, 0) // PART_SIZE
    size = len(_read_part(export, Kind.FILE, last)) if parts.exists() else 0
    if last * PART_SIZE + size != export.size or parts.filter(number__gt=last).exists():
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
