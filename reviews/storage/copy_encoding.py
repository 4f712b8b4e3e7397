"""Encode a record as one row of a binary COPY into `evaluation`.

There are two equivalent encoders. `encode_record` writes the result of `parse_line`. `encode_line_fast` takes
the JSON columns verbatim from the line, three times as fast. It skips lines with anything that PostgreSQL and
Python might read differently.
"""

import datetime as dt
import hashlib
import struct
from typing import Any, NamedTuple

import msgspec
import orjson

from reviews.records.criteria_order import encode_order
from reviews.records.extracted_scores import encode_extracted
from reviews.records.mapping import FieldMapping
from reviews.records.schema import (
    FIELDS,
    REQUIRED_FIELDS,
    VERDICTS,
    Limits,
    LineError,
    Record,
    holds_too_many_values,
    parse_line,
    parse_timestamp,
)
from reviews.records.status import ALL_STATUSES
from reviews.records.translation import Translation, read_translated, translate
from reviews.storage.json_document import on_one_line

_PLACE = ("id", "run_id", "first_import_id", "first_line", "source_import_id", "source_line", "content_hash")
COLUMNS = (*_PLACE, *Record._fields, "extracted_scores", "criteria_order")
JSON_FIELDS = (
    "raw_judge_output",
    "parsed_rubric_scores",
    "review_reasons",
    "structured_model_response",
    "structured_ideal_response",
    "human_corrected_scores",
    "extra",
    "task_context",
)
# The header and trailer of a binary COPY.
COPY_HEADER, COPY_TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"

_JSON_PLACES = tuple(Record._fields.index(name) for name in JSON_FIELDS)
_JSONB_VERSION = b"\x01"
_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_place = struct.Struct("!h iq iq iq iq iq iq i16s").pack
_length = struct.Struct("!i").pack
_boolean = struct.Struct("!i?").pack
_microseconds = struct.Struct("!iq").pack
_NULL = _length(-1)


class RowKeys(NamedTuple):
    """The keys of a row: its own, and those of the run and the import that it belongs to."""

    evaluation: int
    run: int
    source: int
    #: The number of the line.
    line: int
    content_hash: bytes


class EncodedLine(NamedTuple):
    evaluation_id: str
    row: bytes
    #: The values in the order of `Record`, with JSON as bytes, followed by those of the last columns.
    values: list[Any]


def content_hash(line: bytes, *, is_member: bool) -> bytes:
    """Return a hash that distinguishes two versions of a line (without LF).

    The layout of a document's members does not count: the text of their document is exported as a whole.
    """
    return hashlib.blake2b(on_one_line(line) if is_member else line, digest_size=16).digest()


def encode_line(
    line: bytes, limits: Limits, keys: RowKeys, *, mapping: FieldMapping | None = None
) -> EncodedLine:
    """Encode the record in a line. Raises `LineError`."""
    translation = translate(line, limits, mapping, keys.line) if mapping else Translation(line, None)
    if quick := encode_line_fast(translation.line, limits, keys, task_context=translation.task_context):
        return quick
    record = read_translated(translation, limits, mapping) if mapping else parse_line(line, limits)
    return encode_record(record, keys)


def encode_record(record: Record, keys: RowKeys) -> EncodedLine:
    values: list[Any] = list(record)
    for place in _JSON_PLACES:
        if values[place] is not None:
            values[place] = orjson.dumps(values[place])
    values.append(None if record.parsed_rubric_scores else _extracted(record.raw_judge_output))
    values.append(encode_order(record.parsed_rubric_scores))
    return EncodedLine(record.evaluation_id, _row(values, keys), values)


def _extracted(raw_judge_output: dict[str, Any]) -> bytes:
    """Extract the scores from the raw output of a record whose own scores are empty."""
    return orjson.dumps(encode_extracted({}, raw_judge_output))


def _row(values: list[Any], keys: RowKeys) -> bytes:
    """Encode the values of a record, with JSON as bytes, followed by the two columns after its fields."""
    key, run, source, line, line_hash = keys
    parts = [_place(len(COLUMNS), 8, key, 8, run, 8, source, 8, line, 8, source, 8, line, 16, line_hash)]
    for value in values:
        kind = type(value)
        if value is None:
            parts.append(_NULL)
        elif kind is str:
            text = value.encode()
            parts += (_length(len(text)), text)
        elif kind is bytes:
            parts += (_length(len(value) + 1), _JSONB_VERSION, value)
        elif kind is bool:
            parts.append(_boolean(1, value))
        else:
            since = value - _EPOCH
            parts.append(_microseconds(8, (since.days * 86400 + since.seconds) * 10**6 + since.microseconds))
    return b"".join(parts)


# The fast path

_NO_JSON = msgspec.Raw(b"null")


class _Entry(msgspec.Struct):
    """A JSON object with any content."""

    score: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_ID_FIELDS = ("task_id", "model_id", "response_id", "ideal_response_id", "human_reviewer_id")
# The fields that are not texts. JSON values are left unparsed.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_ID_FIELDS, str | int),
    **dict.fromkeys(JSON_FIELDS, msgspec.Raw),
    **dict.fromkeys(("final_answer_verified", "needs_human_review"), bool),
    "review_reasons": list[str],
}


def _line_field(name: str) -> tuple[Any, ...]:
    """Return the name, the type and the default of a field of regular lines."""
    kind = _TYPES.get(name, str)
    if name in REQUIRED_FIELDS:
        return name, kind
    return (name, kind, _NO_JSON) if kind is msgspec.Raw else (name, kind | None, None)


# A regular line has exactly the fields of a record.
_Line: Any = msgspec.defstruct(
    "_Line", map(_line_field, FIELDS), kw_only=True, forbid_unknown_fields=True, gc=False
)
_read = msgspec.json.Decoder(_Line).decode
_read_scores = msgspec.json.Decoder(dict[str, _Entry]).decode
_PLACE_OF = {name: place for place, name in enumerate(Record._fields)}
_NAMES = [_PLACE_OF[name] for name in ("evaluation_id", "judge_llm_model", "judge_prompt_template_path")]
_IDS = [_PLACE_OF[name] for name in _ID_FIELDS]
_MOMENTS = [(name, _PLACE_OF[name]) for name in ("human_review_timestamp", "created_at")]
_REASONS, _CORRECTED = _PLACE_OF["review_reasons"], _PLACE_OF["human_corrected_scores"]
# The allowed first bytes of unparsed JSON.
_BEGINNINGS = (
    (_PLACE_OF["raw_judge_output"], b"{"),
    (_PLACE_OF["parsed_rubric_scores"], b"{"),
    (_PLACE_OF["structured_model_response"], b'{"n'),
    (_PLACE_OF["structured_ideal_response"], b'{"n'),
    (_CORRECTED, b"{n"),
)
# Python and PostgreSQL agree on numbers of up to 15 digits and exponents of up to two. After digits, points
# and signs are mapped to 0, these patterns find all other numbers (and some text).
_ALIKE = bytes.maketrans(b"123456789.+-E", b"0" * 12 + b"e")
_LONG, _EXPONENT = b"0" * 16, b"0e000"


class _NeedsFullParse(Exception):
    """The fast path cannot encode a line."""


def encode_line_fast(
    line: bytes, limits: Limits, keys: RowKeys, *, task_context: bytes | None = None
) -> EncodedLine | None:
    """Encode a record, or return None for a line that `parse_line` must read or reject.

    `task_context` is JSON.
    """
    if len(line) > limits.line_bytes or b"\\u0000" in line or holds_too_many_values(line, limits):
        return None
    try:
        # msgspec validates skipped JSON except for its encoding.
        _ = line.isascii() or line.decode()
        read = _read(line)
        values = _values(read, limits, task_context)
    except (msgspec.MsgspecError, ValueError, RecursionError, LineError, _NeedsFullParse):
        return None
    return EncodedLine(read.evaluation_id, _row(values, keys), values)


def _values(read: Any, limits: Limits, task_context: bytes | None) -> list[Any]:
    """Return the row of a `_Line`. Raises `_NeedsFullParse`, `LineError` and msgspec's errors."""
    verdict = read.aggregated_score
    if (verdict is not None and verdict not in VERDICTS) or read.human_review_status not in ALL_STATUSES:
        raise _NeedsFullParse
    values: list[Any] = [*msgspec.structs.astuple(read), b"{}", task_context]
    for place in _NAMES:
        values[place] = _id(values[place], limits)
        if not values[place].strip():
            raise _NeedsFullParse
    for place in _IDS:
        if values[place] is not None:
            values[place] = _id(values[place], limits)
    for name, place in _MOMENTS:
        if values[place] is not None:
            values[place] = parse_timestamp(name, values[place])
    values[_REASONS] = orjson.dumps(values[_REASONS])
    _put_json(values, limits)
    scores = _read_scores(read.parsed_rubric_scores)
    if any(entry.score is msgspec.UNSET for entry in scores.values()):
        raise _NeedsFullParse  # it may be a group of criteria
    values.append(None if scores else _extracted(orjson.loads(bytes(read.raw_judge_output))))
    values.append(encode_order(scores))
    return values


def _put_json(values: list[Any], limits: Limits) -> None:
    """Copy the JSON verbatim. Raises `_NeedsFullParse` for possibly ambiguous numbers or deep nesting."""
    texts = []
    for place, beginnings in _BEGINNINGS:
        text = bytes(values[place])
        if text[0] not in beginnings:
            raise _NeedsFullParse
        values[place] = None if text == b"null" else text
        texts.append(text)
    spelled = b" ".join(texts)
    alike = spelled.translate(_ALIKE, b"[{")
    if len(spelled) - len(alike) >= limits.nesting or _LONG in alike or _EXPONENT in alike:
        raise _NeedsFullParse
    if values[_CORRECTED]:
        # Later imports compare these scores. There, 1e2 and 100.0 are equal and 100 differs.
        values[_CORRECTED] = orjson.dumps(orjson.loads(values[_CORRECTED]))


def _id(value: str | int, limits: Limits) -> str:
    if isinstance(value, int):
        # Neither -0 nor a number beyond 64 bits.
        if not value or not -(2**63) <= value < 2**64:
            raise _NeedsFullParse
        return str(value)
    if len(value) * 4 > limits.id_bytes:
        raise _NeedsFullParse
    return value
