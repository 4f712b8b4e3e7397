"""Describe files that are not JSONL by their first bytes, for the message that refuses them."""

import csv
import re
from io import StringIO
from itertools import islice

from reviews.records.schema import Record
from reviews.storage import json_outline
from reviews.storage.json_outline import ObjectList

# How many bytes of a file are looked at.
LOOKED_AT = 1024**2
_TABLE_BYTES = 64 * 1024
_TABLE_ROWS = 20
_LONGEST_CELL = 60
_SHOWN_COLUMNS = 8
_SHOWN_LISTS = 3
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    rb"{\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Microsoft Office document (such as XLS or DOC)",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"Obj\x01": "an Avro file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"SQLite format 3\0": "an SQLite database",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"PK\x03\x04": "a ZIP archive in a compressed file",
    b"\x1f\x8b": "a gzip file in a compressed file",
    b"\x28\xb5\x2f\xfd": "a zstd file in a compressed file",
    b"\xfd7zXZ\0": "an xz file in a compressed file",
    b"BZh": "a bzip2 file in a compressed file",
}
# A record has these keys. Lines with none of them are those of another tool.
_RECORD_KEYS = {"evaluation_id", "judge_llm_model", "judge_prompt_template_path"}
_TAR_PLACE, _TAR = 257, b"ustar"
# The name of an entry follows 26 bytes after the signature.
_OFFICE = re.compile(rb"PK\x03\x04.{26}(?:(xl/)|(word/)|(ppt/))", re.DOTALL)
_OFFICE_NAMES = {
    b"xl/": "an Excel workbook (XLSX)",
    b"word/": "a Word document (DOCX)",
    b"ppt/": "a PowerPoint presentation (PPTX)",
}
_HTML = re.compile(rb"\s*+<(?:!doctype html|html\b|head\b|body\b)", re.IGNORECASE)
_XML = re.compile(rb"\s*+<[?!A-Za-z]")
_DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV"}


def describe_format(start: bytes, *, is_mapped: bool = False) -> str:
    """Name the format of a file without records, such as "a PNG image". Empty if the format is unknown.

    `start` is the beginning of the decompressed file, without a byte order mark. With `is_mapped`, lines may
    be any JSON objects.
    """
    start = start[:LOOKED_AT]
    return (
        _binary_format(start)
        or _markup(start)
        or _json_document(start, is_mapped=is_mapped)
        or _table(start[:_TABLE_BYTES])
    )


def foreign_keys(start: bytes) -> str:
    """List the keys of a first line that is an object of another tool. "" for a record with an error."""
    found = json_outline.outline(start[:LOOKED_AT])
    if not found or not found.end or _RECORD_KEYS.intersection(found.keys):
        return ""
    return _named([key for key in found.keys if key.isprintable()])


def office_format(start: bytes) -> str:
    """Name the format of a ZIP archive that is an Office document. Empty for other archives."""
    found = _OFFICE.search(start[:LOOKED_AT])
    return _OFFICE_NAMES[found.group(found.lastindex or 0)] if found else ""


def _binary_format(start: bytes) -> str:
    name = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
    if not name and start[_TAR_PLACE:].startswith(_TAR):
        return "a tar archive"
    return name or ("UTF-16 text" if _is_utf16(start[:1000]) else "")


def _is_utf16(sample: bytes) -> bool:
    """Whether every other byte is mostly zero, as in Latin text."""
    low, high = sample[::2], sample[1::2]
    return len(high) > 1 and any(
        zeros.count(0) > 0.8 * len(zeros) and not others.count(0)
        for zeros, others in ((low, high), (high, low))
    )


def _markup(start: bytes) -> str:
    if _HTML.match(start):
        return "an HTML page"
    return "an XML or HTML document" if _XML.match(start) else ""


def _json_document(start: bytes, *, is_mapped: bool) -> str:
    found = json_outline.outline(start)
    if not found:
        return ""
    is_one_line = b"\n" not in start[: found.end].strip()
    if is_one_line and (is_mapped or not found.lists or set(found.keys) & set(Record._fields)):
        # The line may be a record with an error.
        return ""
    if found.end and start[found.end :].strip():
        return "" if is_one_line else "JSON objects that take several lines each"
    if not found.lists:
        return "one JSON object in several lines"
    return f"a JSON document with {describe_lists(found.lists)}"


def describe_lists(lists: list[ObjectList]) -> str:
    """Name the largest lists of a JSON document, such as "a list of 2 objects at `results`"."""
    largest = sorted(lists, key=lambda known: -known.objects)[:_SHOWN_LISTS]
    return " and ".join(map(_described, largest))


def _described(known: ObjectList) -> str:
    objects = f"{known.objects:,} object{'' if known.objects == 1 else 's'}"
    return f"a list of {'' if known.is_complete else 'at least '}{objects} at `{known.path}`"


def _table(start: bytes) -> str:
    text = start.decode(errors="replace")
    for delimiter, name in _DELIMITERS.items():
        if columns := _columns(text, delimiter, is_cut=len(start) == _TABLE_BYTES):
            return f"a {name} file with the columns {_named(columns)}"
    return ""


def _named(names: list[str]) -> str:
    """List the first names of columns or keys."""
    more = len(names) - _SHOWN_COLUMNS
    shown = ", ".join(name[:_LONGEST_CELL] for name in names[:_SHOWN_COLUMNS])
    return f"{shown}{f' and {more:,} more' if more > 0 else ''}"


def _columns(text: str, delimiter: str, *, is_cut: bool) -> list[str]:
    """Return the column names of a table with a header and at least one row, or nothing."""
    if "\0" in text or text.lstrip()[:1] in ("{", "["):
        return []
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        first = [row for row in islice(rows, _TABLE_ROWS) if row]
    except csv.Error:
        return []
    if is_cut and len(first) < _TABLE_ROWS:
        first = first[:-1]
    header = [cell.strip() for cell in first[0]] if first else []
    if len(first) < 2 or len(header) < 2 or len(set(header)) < len(header):
        return []
    is_named = all(len(name) <= _LONGEST_CELL and name.isprintable() for name in header) and any(header)
    return header if is_named and all(len(row) == len(header) for row in first) else []
