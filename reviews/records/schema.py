"""The record: its 23 fields, their types, and the validator for every way in.

`parse_line` parses one line of a file into a `Record`, or raises `LineError` with field and reason. A record
can be stored, read back, shown and exported:

- U+0000, which PostgreSQL rejects, becomes U+FFFD in text and JSON;
- a number that 64 bits cannot hold becomes text, spelled as in the line;
- a number in an id field becomes text, spelled as in the line.

The stored file, not the record, is the authoritative form of a line.
"""

import datetime as dt
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

import orjson

from reviews.records.line_splice import members
from reviews.records.patterns import STRING
from reviews.records.scores import unnest
from reviews.records.status import ALL_STATUSES

VERDICTS = ("Pass", "Fail", "Partial")
HUMAN_FIELDS = (
    "human_review_status",
    "human_reviewer_id",
    "human_review_timestamp",
    "human_corrected_scores",
    "human_review_comments",
)
EARLIEST_YEAR = 1900


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a line. A value of two bytes in a line takes about a hundred bytes of memory."""

    line_bytes: int = 16 * 1024**2
    #: Bytes of an id or a name.
    id_bytes: int = 512
    #: Depth of nested brackets.
    nesting: int = 200
    #: Number of JSON values.
    values: int = 1_000_000


# For lines that were accepted earlier, under other limits.
NO_LIMITS = Limits(line_bytes=sys.maxsize, id_bytes=sys.maxsize, nesting=sys.maxsize, values=sys.maxsize)


class LineError(Exception):
    """An invalid line: the field (empty for the line as a whole), its problem, and what else is wrong."""

    def __init__(self, field: str, problem: str, more: str = "") -> None:
        self.field = field
        self.problem = problem
        self.more = more
        self.reason = f"{problem}; {more}" if more else problem
        super().__init__(f"{field}: {self.reason}" if field else self.reason)


class Record(NamedTuple):
    """One parsed line. JSON fields are Python values; timestamps are aware and in UTC."""

    evaluation_id: str
    task_id: str | None
    model_id: str | None
    response_id: str | None
    ideal_response_id: str | None
    judge_llm_model: str
    judge_prompt_template_path: str
    raw_judge_output: dict[str, Any]
    parsed_rubric_scores: dict[str, Any]
    aggregated_score: str | None
    final_answer_verified: bool | None
    verification_message: str | None
    needs_human_review: bool
    review_reasons: list[str]
    structured_model_response: dict[str, Any] | str | None
    structured_ideal_response: dict[str, Any] | str | None
    parsing_error: str | None
    human_review_status: str
    human_reviewer_id: str | None
    human_review_timestamp: dt.datetime | None
    human_corrected_scores: dict[str, Any] | None
    human_review_comments: str | None
    created_at: dt.datetime
    #: The other keys of the line.
    extra: dict[str, Any]
    #: The question and the responses, if a mapping takes them from the line: see `records.task_context`.
    task_context: dict[str, Any] | None = None


class _Line(NamedTuple):
    """The line that a field parser may need."""

    text: bytes
    limits: Limits


def parse_line(line: bytes, limits: Limits = Limits()) -> Record:
    """Parse one line, with or without its line end. Raises `LineError`."""
    data = read_object(line, limits)
    whole = _Line(line, limits)
    values: list[Any] = []
    for name, (required, read) in _FIELDS.items():
        value = data.get(name)
        if value is not None:
            values.append(read(name, value, whole))
        elif required:
            raise _lacking(data)
        else:
            values.append(None)
    extra = {key: value for key, value in data.items() if key not in _FIELDS}
    return Record._make([*values, extra, None])


def _lacking(data: dict[str, Any]) -> LineError:
    """Return the error about the required fields without a value."""
    names = (name for name in FIELDS if name in REQUIRED_FIELDS and data.get(name) is None)
    return missing({name: name in data for name in names})


def missing(fields: Mapping[str, bool]) -> LineError:
    """Return the error about fields without a value, which names all of them.

    Each value of the mapping says whether the field is null.
    """
    (first, is_null), *others = fields.items()
    problem = "is null, but the field is required" if is_null else "is missing"
    also = ", ".join(f"{name} (null)" if is_null else name for name, is_null in others)
    return LineError(first, problem, f"also missing: {also}" if also else "")


def read_object(line: bytes, limits: Limits) -> dict[str, Any]:
    """Parse the JSON object of a line in its storable form. Raises `LineError`."""
    if len(line) > limits.line_bytes:
        raise LineError("", f"is longer than {limits.line_bytes:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)")
    if holds_too_many_values(line, limits):
        raise LineError("", f"holds more than {limits.values:,} values")
    plain = line.translate(_ZEROS, b"[{")
    data, odd = _load(line, has_long_number=_LONG_NUMBER in plain)
    if not isinstance(data, dict):
        raise LineError("", f"is not a JSON object but {type_name(data)}")
    if len(line) - len(plain) > limits.nesting:
        _check_nesting(data, limits)
    return _clean(data) if odd or b"\\u0000" in line else data


_STRING = re.compile(STRING.encode(), re.DOTALL)
_VALUE_MARKS = (b",", b"[", b"{")


def holds_too_many_values(line: bytes, limits: Limits) -> bool:
    """Return whether a line has too many values. Short lines are not scanned."""
    if len(line) <= limits.values or _value_marks(line) <= limits.values:
        return False
    return _value_marks(_STRING.sub(b"", line)) > limits.values


def _value_marks(text: bytes) -> int:
    return sum(map(text.count, _VALUE_MARKS))


# Translating digits to zeros and deleting opening brackets reveals long numbers and the number of brackets.
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER = b"0" * 19


def _load(line: bytes, *, has_long_number: bool) -> tuple[Any, bool]:
    """Return the value of the line, and whether it took the slow parser."""
    # The fast parser rounds large integers to floats.
    if has_long_number:
        return _load_slowly(line), True
    try:
        return orjson.loads(line), False
    except orjson.JSONDecodeError:
        return _load_slowly(line), True


def _load_slowly(line: bytes) -> Any:
    """Parse lines that the fast parser rejects or rounds. Raises `LineError` for invalid JSON."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise LineError("", f"is not UTF-8: byte {error.start + 1} of the line") from None
    if text.startswith("\ufeff"):
        raise LineError("", "has a byte order mark that is not at the start of the file")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
    except json.JSONDecodeError as error:
        raise LineError("", f"is not JSON: {error.msg}, at character {error.pos + 1}") from None
    except RecursionError:
        raise LineError("", "is nested too deep (COGNIREVIEW_MAX_NESTING)") from None


def _refuse_constant(word: str) -> Any:
    raise LineError("", f"holds {word}, which is not JSON")


def _integer(spelled: str) -> int | str:
    """Return a number, or its text if 64 bits cannot hold it."""
    if len(spelled) > len(str(-(2**63))):
        return spelled
    number = int(spelled)
    return number if -(2**63) <= number < 2**64 else spelled


def _float(spelled: str) -> float | str:
    number = float(spelled)
    return spelled if number in {float("inf"), float("-inf")} else number


def _clean(value: Any) -> Any:
    """Replace U+0000 by U+FFFD in keys and text. Raises `LineError` for a lone surrogate."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise LineError("", "holds half a surrogate pair (an escape from \\ud800 to \\udfff alone)")
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value


def _check_nesting(data: Any, limits: Limits) -> None:
    level, depth = [data], 0
    while level:
        depth += 1
        if depth > limits.nesting:
            raise LineError("", f"is nested deeper than {limits.nesting} (COGNIREVIEW_MAX_NESTING)")
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]


# Field parsers: (name, value, line) -> the value to store. They are never called with None.


def type_name(value: Any) -> str:
    """Name the type of a JSON value."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")


def _wrong(name: str, value: Any, takes: str) -> LineError:
    return LineError(name, f"is {type_name(value)}, but takes {takes}")


def typed(name: str, value: Any, kind: type | UnionType, takes: str) -> Any:
    """Return a value. Raises `LineError` if it is not of a type."""
    if not isinstance(value, kind):
        raise _wrong(name, value, takes)
    return value


def _of_type(kind: type | UnionType, takes: str) -> Callable[[str, Any, _Line], Any]:
    def read(name: str, value: Any, _: _Line) -> Any:
        if not isinstance(value, kind):
            raise _wrong(name, value, takes)
        return value

    return read


_text = _of_type(str, "a string")
_boolean = _of_type(bool, "true or false")
_object = _of_type(dict, "an object")
_response = _of_type(dict | str, "an object or a string")


def _name(name: str, value: Any, line: _Line) -> str:
    text = _text(name, value, line)
    if not text.strip():
        raise LineError(name, "is empty")
    return bounded(name, text, line.limits)


def bounded(name: str, text: str, limits: Limits) -> str:
    # An index entry of PostgreSQL has at most about 2,700 bytes. One longer id would fail the whole COPY.
    if len(text.encode()) > limits.id_bytes:
        raise LineError(name, f"is longer than {limits.id_bytes} bytes (COGNIREVIEW_MAX_ID_BYTES)")
    return text


def _id(name: str, value: Any, line: _Line) -> str:
    if isinstance(value, str):
        return bounded(name, value, line.limits)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, value, "a string or a number")
    if isinstance(value, int) and value:
        return str(value)
    spelled = [line.text[member.start : member.end] for member in members(line.text) if member.key == name]
    return bounded(name, spelled[-1].decode(), line.limits)


def _scores(name: str, value: Any, line: _Line) -> dict[str, Any]:
    scores: dict[str, Any] = _object(name, value, line)
    for criterion, judged in scores.items():
        if not isinstance(judged, dict):
            takes = "an object with score and justification"
            raise LineError(name, f"has {type_name(judged)} for {criterion[:40]!r}, but takes {takes}")
    return unnest(scores)


def _strings(name: str, value: Any, _: _Line) -> list[str]:
    parts: list[Any] = typed(name, value, list, "an array of strings")
    for number, part in enumerate(parts, start=1):
        if not isinstance(part, str):
            raise LineError(name, f"has {type_name(part)} in place {number}, but takes strings")
    return parts


def _one_of(words: tuple[str, ...]) -> Callable[[str, Any, _Line], str]:
    def read(name: str, value: Any, line: _Line) -> str:
        if _text(name, value, line) not in words:
            raise LineError(name, f"is {value[:40]!r}, but takes one of {', '.join(words)}")
        return str(value)

    return read


_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?", re.ASCII | re.IGNORECASE
)


def _timestamp(name: str, value: Any, line: _Line) -> dt.datetime:
    return parse_timestamp(name, _text(name, value, line))


def parse_timestamp(name: str, text: str) -> dt.datetime:
    """Parse the timestamp of a field to UTC. Raises `LineError`."""
    try:
        named = dt.datetime.fromisoformat(text.upper() if _TIMESTAMP.fullmatch(text) else "")
        named = named.replace(tzinfo=dt.UTC) if named.tzinfo is None else named.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise LineError(name, f"is {text[:40]!r}, but takes a date and time in ISO 8601") from None
    if named.year < EARLIEST_YEAR:
        raise LineError(name, f"is in the year {named.year}, before {EARLIEST_YEAR}")
    return named


_FIELDS: dict[str, tuple[bool, Callable[[str, Any, _Line], Any]]] = {
    "evaluation_id": (True, _name),
    "task_id": (False, _id),
    "model_id": (False, _id),
    "response_id": (False, _id),
    "ideal_response_id": (False, _id),
    "judge_llm_model": (True, _name),
    "judge_prompt_template_path": (True, _name),
    "raw_judge_output": (True, _object),
    "parsed_rubric_scores": (True, _scores),
    "aggregated_score": (False, _one_of(VERDICTS)),
    "final_answer_verified": (False, _boolean),
    "verification_message": (False, _text),
    "needs_human_review": (True, _boolean),
    "review_reasons": (True, _strings),
    "structured_model_response": (False, _response),
    "structured_ideal_response": (False, _response),
    "parsing_error": (False, _text),
    "human_review_status": (True, _one_of(ALL_STATUSES)),
    "human_reviewer_id": (False, _id),
    "human_review_timestamp": (False, _timestamp),
    "human_corrected_scores": (False, _object),
    "human_review_comments": (False, _text),
    "created_at": (True, _timestamp),
}
FIELDS = tuple(_FIELDS)
REQUIRED_FIELDS = {name for name, (required, _) in _FIELDS.items() if required}
