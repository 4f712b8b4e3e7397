"""Recognise files of well-known tools by their content, and preview their records."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from reviews.imports.shipped_mappings import SHIPPED, ShippedMapping
from reviews.records.mapping import FieldMapping, Outside
from reviews.records.schema import LineError, Record, read_object
from reviews.records.translation import read_line
from reviews.storage import json_outline
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import list_start, member_lines

PREVIEWED = 3
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
        super().__init__(f"The file contains {shipped.title}, which need the mapping {shipped.name!r}.")
        #: The mapping for the file.
        self.shipped = shipped
        #: The first records of the file, read with that mapping.
        self.rows = rows


def recognise_tool(start: bytes) -> ToolRecognised | None:
    """Return the mapping and the first records of a file that begins like this. None for unknown tools."""
    for shipped in SHIPPED:
        mapping = shipped.read()
        for beginning in _beginnings(start, mapping.record_path):
            if shipped.fits(_first_keys(beginning.lines)):
                return ToolRecognised(shipped, _preview(beginning, mapping))
    return None


class _Beginning(NamedTuple):
    """The beginning of a file, read in one way."""

    #: Lines with the records. The last line may be cut off.
    lines: bytes
    #: The document before the list of records, or None for a file of lines.
    document: Any


def _beginnings(start: bytes, path: tuple[str, ...]) -> Iterator[_Beginning]:
    """Yield the beginning as lines, and as a document with the list of records at that path."""
    yield _Beginning(start, None)
    members = member_lines(start, path) if path else None
    if members is not None:
        yield _Beginning(members, _document(start, path))


def _document(start: bytes, path: tuple[str, ...]) -> Any:
    """Return the document as if it ended with an empty list of records."""
    ended = start[: list_start(start, path)] + b"]" + b"}" * len(path)
    try:
        return read_object(ended, settings.LIMITS)
    except LineError:
        return None


def _first_keys(lines: bytes) -> set[str]:
    """Return the keys of the first record, which may be cut off."""
    found = json_outline.outline(next(_each(lines), b""))
    return set(found.keys) if found else set()


def _preview(beginning: _Beginning, mapping: FieldMapping) -> list[PreviewRow]:
    """Read the first records. Invalid lines are left out."""
    outside = Outside(document=beginning.document, received_at=timezone.now().isoformat())
    bound = mapping.of_import(outside)
    rows: list[PreviewRow] = []
    for line in _each(beginning.lines):
        try:
            rows.append(_row(read_line(line, settings.LIMITS, bound)))
        except LineError:
            continue
        if len(rows) == PREVIEWED:
            break
    return rows


def _each(lines: bytes) -> Iterator[bytes]:
    return (line for line in lines.split(b"\n") if line.strip())


def _row(record: Record) -> PreviewRow:
    scores = ", ".join(
        f"{name}: {_text(score.get('score'))}" for name, score in record.parsed_rubric_scores.items()
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


def _response(record: Record) -> Any:
    if record.structured_model_response is not None:
        return record.structured_model_response
    responses = (record.task_context or {}).get("responses", [])
    return "; ".join(f"{one['name']}: {_text(one['response'])}" for one in responses)


def _short(value: Any) -> str:
    """Return the beginning of a value, on one line and without characters that control a terminal."""
    words = " ".join(_text(value)[: 2 * _LONGEST_TEXT].split())
    text = "".join(character for character in words if character.isprintable())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
