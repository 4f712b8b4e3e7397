"""Recognise files of well-known tools by their content, and preview their records."""

from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any, NamedTuple
from zipfile import ZipInfo

from django.conf import settings
from django.utils import timezone

from reviews.imports.shipped_mappings import SHIPPED, ShippedMapping
from reviews.models import Evaluation
from reviews.records.json_text import as_text
from reviews.records.mapping import FieldMapping, Outside
from reviews.records.schema import LineError, Record, read_object
from reviews.records.translation import read_line
from reviews.records.wording import abbreviate, printable
from reviews.storage import json_outline
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import MemberCutter, NoList, list_start
from reviews.storage.source_text import SourceText, parse_outside
from reviews.storage.zip_archive import ZipArchive

PREVIEWED = 3
# Lines that the preview is made of, if some of them are invalid.
_LOOKED_AT = 10
_BLOCK = 64 * 1024
_LONGEST_TEXT = 120


class PreviewRow(NamedTuple):
    """The beginning of a record, as short texts. Values that the record does not have are empty."""

    record: str
    task: str
    model: str
    #: Criteria with their scores.
    scores: str
    #: The prompt, or the last message of the conversation.
    prompt: str
    response: str


class ToolRecognised(ImportRefused):
    """A file of a known tool was to be imported without a mapping. The import needs a confirmation."""

    def __init__(self, shipped: ShippedMapping, rows: list[PreviewRow]) -> None:
        super().__init__(f"The file contains {shipped.title}. It needs the mapping {shipped.name!r}.")
        #: The mapping for the file.
        self.shipped = shipped
        #: The first records of the file, read with that mapping.
        self.rows = rows


def recognise_tool(start: bytes) -> ToolRecognised | None:
    """Return the mapping and the first records of a file that begins like this. None for unknown tools."""
    first = json_outline.outline(start)
    if not first:
        return None
    for shipped in SHIPPED:
        mapping = shipped.read()
        if shipped.fits(set(first.keys)):
            return ToolRecognised(shipped, _preview(start, mapping))
        if mapping.records in {known.path for known in first.lists}:
            head, members = _cut_document(start, mapping.record_path)
            if shipped.fits(_first_keys(members)):
                document = _document(head, mapping.record_path)
                return ToolRecognised(shipped, _preview(members, mapping, document))
    return None


def open_text(blocks: Iterable[bytes], mapping: FieldMapping | None) -> SourceText:
    """Open a file that is read by a mapping, or without one.

    Raises `ImportRefused`, and `ToolRecognised` for an archive of a known tool without a mapping.
    """
    known = [mapping] if mapping else [shipped.read() for shipped in SHIPPED]
    text = SourceText(
        blocks,
        most=settings.MAX_UNPACKED_BYTES,
        records=mapping.record_path if mapping else (),
        archives=tuple(one.archive.records for one in known if one.archive),
        limits=settings.LIMITS,
    )
    if mapping is None and text.is_archive and text.archive:
        with closing(text):
            raise _recognise_archive(text.archive)
    return text


def _recognise_archive(archive: ZipArchive) -> ImportRefused:
    """Return the mapping and the first records of an archive of a known tool, or why it is refused."""
    for shipped in SHIPPED:
        mapping = shipped.read()
        if mapping.archive:
            found = archive.matching(mapping.archive.records)
            lines = b"".join(archive.lines(_small(found)[:PREVIEWED]))
            if shipped.fits(_first_keys(lines)):
                infos = _small(archive.matching(mapping.archive.document))
                header = b"".join(b"".join(archive.content(info)) for info in infos[:1])
                return ToolRecognised(shipped, _preview(lines, mapping, _object(header)))
    return ImportRefused(
        f"The file is a ZIP archive with files of an unknown tool: {archive.describe()}. Name the files with "
        "records in a mapping ([archive])."
    )


def _small(infos: list[ZipInfo]) -> list[ZipInfo]:
    return [info for info in infos if info.file_size <= settings.LIMITS.line_bytes]


def _object(text: bytes) -> Any:
    try:
        return parse_outside(text, settings.LIMITS, "")
    except ImportRefused:
        return None


def _cut_document(start: bytes, path: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Return the text of a document up to its list of records, and the first records as lines."""
    try:
        end = list_start(start, path)
    except NoList:
        end = None
    cutter, lines = MemberCutter(), b""
    for at in range(end, len(start), _BLOCK) if end else ():
        lines += cutter.take(start[at : at + _BLOCK])
        if cutter.has_ended or cutter.member > _LOOKED_AT:
            break
    return start[:end], lines


def _document(head: bytes, path: tuple[str, ...]) -> Any:
    """Return a document as if it ended with an empty list of records, after this text."""
    try:
        return read_object(head + b"]" + b"}" * len(path), settings.LIMITS)
    except LineError:
        return None


def _first_keys(lines: bytes) -> set[str]:
    """Return the keys of the first record, which may be cut off."""
    first = json_outline.outline(lines)
    return set(first.keys) if first else set()


def _preview(lines: bytes, mapping: FieldMapping, document: Any = None) -> list[PreviewRow]:
    """Read the first records. Invalid lines, and a last line that is cut off, are left out."""
    bound = mapping.of_import(Outside(document=document, received_at=timezone.now().isoformat()))
    rows: list[PreviewRow] = []
    for line in lines.lstrip().split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        with suppress(LineError):
            rows.append(preview_row(read_line(line, settings.LIMITS, bound)))
    return rows[:PREVIEWED]


def preview_row(record: Record | Evaluation) -> PreviewRow:
    """Return the beginning of a record."""
    scores = ", ".join(
        f"{name}: {as_text(score.get('score'))}" for name, score in record.parsed_rubric_scores.items()
    )
    return PreviewRow(
        _short(record.evaluation_id),
        _short(record.task_id),
        _short(record.model_id),
        _short(scores),
        _short(_prompt(record.task_context or {})),
        _short(_response(record)),
    )


def _prompt(context: dict[str, Any]) -> Any:
    if prompt := context.get("prompt"):
        return prompt
    messages = context.get("conversation") or [{}]
    return messages[-1].get("content")


def _response(record: Record | Evaluation) -> Any:
    if record.structured_model_response is not None:
        return record.structured_model_response
    responses = (record.task_context or {}).get("responses", [])
    return "; ".join(f"{one['name']}: {as_text(one['response'])}" for one in responses)


def _short(value: Any) -> str:
    """Return the beginning of a value, on one line and without characters that control a terminal."""
    words = " ".join(as_text(value)[: 2 * _LONGEST_TEXT].split())
    return abbreviate(printable(words), _LONGEST_TEXT)
