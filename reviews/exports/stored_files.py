"""The frames of finished exports, each with a checksum over its bytes and its place."""

import hashlib

import zstandard
from django.db import connection

from reviews.models import Export, ExportPart
from reviews.storage.corruption import CorruptData, export_fault

# The form in which the trigger of `export_part` hashes a row.
_DIGEST = "sha256(int8send(export_id) || convert_to(kind, 'UTF8') || int4send(number) || frame)"
_SOUND = f"""
    SELECT number FROM export_part
    WHERE export_id = %s AND kind = %s AND number BETWEEN %s AND %s AND digest = {_DIGEST}
"""  # noqa: S608 (a constant)


def verify_parts(export: Export, kind: ExportPart.Kind, first: int, last: int) -> None:
    """Raise `CorruptData` for the first of these parts that is missing or does not match its checksum.

    PostgreSQL hashes the frames where they are.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SOUND, [export.pk, kind, first, last])
        sound = {number for (number,) in cursor.fetchall()}
    for number in range(first, last + 1):
        if number not in sound:
            raise CorruptData(
                export_fault(export, f"the {kind} is missing there or does not match its checksum", number)
            )


def read_part(export: Export, kind: ExportPart.Kind, number: int) -> bytes:
    """The bytes of one part. Raises `CorruptData`."""
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
        raise CorruptData(export_fault(export, f"the {kind} cannot be unpacked ({error})", number)) from error
