"""Read lines of other evaluation tools as records, by a mapping.

A mapping never changes a line: the line is translated to one that the pipeline would have written, which is
parsed like any other. Decisions are stored in the original line as human_* keys, and read from there.
"""

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from reviews.records import expressions
from reviews.records.expressions import ExpressionBudget, ExpressionError
from reviews.records.json_text import as_text
from reviews.records.mapping import BY_RULES, SCORES, CriteriaMapping, FieldMapping, shorten
from reviews.records.mapping_functions import content_sha256
from reviews.records.schema import (
    FIELDS,
    HUMAN_FIELDS,
    NO_LIMITS,
    Limits,
    LineError,
    Record,
    parse_line,
    read_object,
    type_name,
)
from reviews.records.task_context import build_task_context

_NAMES = (
    "evaluation_id",
    "judge_llm_model",
    "judge_prompt_template_path",
    "task_id",
    "model_id",
    "response_id",
    "ideal_response_id",
)
_TEXTS = ("verification_message", "parsing_error")
_RESPONSES = ("structured_model_response", "structured_ideal_response")
# Hexadecimal digits of a content id: 128 bits.
_ID_LENGTH = 32
# Timestamps from this number on are in milliseconds. In seconds, it is in the year 5138.
_MILLISECONDS = 10**11
_WORDS_OF_TRUTH = {True: "Pass", False: "Fail"}


def read_line(
    line: bytes,
    limits: Limits = NO_LIMITS,
    mapping: FieldMapping | None = None,
    *,
    number: int | None = None,
) -> Record:
    """Parse a line, by the mapping if there is one. `number` is its `$line`. Raises `LineError`."""
    if mapping is None:
        return parse_line(line, limits)
    return read_translated(translate(line, limits, mapping, number), limits, mapping)


class Translation(NamedTuple):
    """A line as the pipeline would have written it, and the task context, which its lines do not have."""

    line: bytes
    #: JSON, or None without task context.
    task_context: bytes | None

    @property
    def whole_line(self) -> bytes:
        """The line with its task context as a last key, for `read_whole_line`."""
        if self.task_context is None:
            return self.line
        return b'%b,"task_context":%b}' % (self.line[:-1], self.task_context)


def read_whole_line(line: bytes) -> Record:
    """Parse `Translation.whole_line` or a line of the pipeline. Raises `LineError`."""
    *values, extra, _ = parse_line(line, NO_LIMITS)
    return Record._make([*values, extra, extra.pop("task_context", None)])


def read_translated(translation: Translation, limits: Limits, mapping: FieldMapping) -> Record:
    """Parse a translated line. Raises `LineError`."""
    context = translation.task_context
    try:
        record = parse_line(translation.line, limits)
    except LineError as error:
        raise mapping.explained(error) from None
    return Record._make([*record[:-1], orjson.loads(context) if context else None])


def translate(line: bytes, limits: Limits, mapping: FieldMapping, number: int | None = None) -> Translation:
    """Translate a line to one that the pipeline would have written.

    `number` is the `$line` of expressions. Raises `LineError`.
    """
    source = read_object(line, limits)
    decided = {name: source.pop(name) for name in HUMAN_FIELDS if name in source}
    reader = _ExpressionReader(
        source, ExpressionBudget(len(line), limits.line_bytes), mapping.outside.values(number)
    )
    values = dict(_values(mapping, reader))
    record = _inherited(source, mapping) if mapping.inherit else {}
    record |= {
        name: _FITTED[name](value) if name in _FITTED else value
        for name, value in values.items()
        if name in _KNOWN
    }
    if "evaluation_id" not in record and "evaluation_id" not in dict(mapping.fields):
        record["evaluation_id"] = _content_id(source)
    record.setdefault("raw_judge_output", {})
    record.setdefault("parsed_rubric_scores", {})
    if mapping.criteria:
        record["parsed_rubric_scores"] = dict(_scores(mapping, reader))
    reasons = [rule.reason for rule in mapping.review if reader.value("review", rule.when)]
    needs_review = record.setdefault("needs_human_review", bool(reasons) or not mapping.review)
    record.setdefault("review_reasons", reasons)
    record["human_review_status"] = "Needs Review" if needs_review else "Not Required"
    others = {key: value for key, value in source.items() if key not in mapping.taken_whole | _KNOWN}
    try:
        context = build_task_context(values)
        return Translation(
            orjson.dumps(others | record | decided), orjson.dumps(context) if context else None
        )
    except LineError as error:
        raise mapping.explained(error) from None
    except TypeError as error:  # nested too deep, or built by an expression
        raise LineError("", f"is not valid JSON by the mapping: {error}") from None


def _inherited(source: Mapping[str, Any], mapping: FieldMapping) -> dict[str, Any]:
    """Return the line's own values of fields that the mapping does not set."""
    own = _KNOWN.difference(dict(mapping.fields), BY_RULES if mapping.review else ())
    return {name: source[name] for name in own if source.get(name) is not None}


def _content_id(source: Mapping[str, Any]) -> str:
    """Return an id from the content of a line without its decision: the same values give the same id."""
    try:
        return content_sha256(source)[:_ID_LENGTH]
    except TypeError as error:
        raise LineError("evaluation_id", f"cannot be a hash of the content: {error}") from None


class _ExpressionReader:
    """Evaluate expressions on a line within one budget."""

    def __init__(
        self, source: Mapping[str, Any], budget: ExpressionBudget, outside: Mapping[str, Any]
    ) -> None:
        self._source, self._budget = source, budget
        self._outside = {**outside, expressions.RECORD_NAME: source}

    def value(self, field: str, expression: str) -> Any:
        """Evaluate an expression on the line, for a field. Raises `LineError`."""
        return self.value_of(field, expression, self._source)

    def value_of(self, field: str, expression: str, data: Any) -> Any:
        """Evaluate an expression on a part of the line. Raises `LineError`."""
        try:
            return expressions.value(expression, data, self._budget, self._outside)
        except ExpressionError as error:
            raise LineError(field, f"has no value by the mapping: {shorten(expression)}: {error}") from None

    def members(self, each: str) -> list[Any]:
        """Return the parts of the line that criteria are read from. Raises `LineError`."""
        if not each:
            return [self._source]
        found = self.value(SCORES, each)
        if isinstance(found, dict):
            return [{"key": key, "value": value} for key, value in found.items()]
        if found is not None and not isinstance(found, list):
            takes = f"takes a list or an object: {shorten(each)}"
            raise LineError(SCORES, f"is {type_name(found)} by the mapping, but {takes}")
        return found or []


def _values(mapping: FieldMapping, reader: _ExpressionReader) -> Iterator[tuple[str, Any]]:
    for name, expression in mapping.fields:
        value = reader.value(name, expression)
        if value is not None:
            yield name, value


def _scores(mapping: FieldMapping, reader: _ExpressionReader) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each criterion with its score. Duplicate names are numbered."""
    met: dict[str, int] = {}
    for criteria in mapping.criteria:
        for member in reader.members(criteria.each):
            score = reader.value_of(SCORES, criteria.score, member)
            if score is None:
                continue
            if isinstance(score, dict | list):
                raise LineError(
                    SCORES, f"has {type_name(score)} as a score: {shorten(criteria.score)} gives that"
                )
            name = _name_of(criteria, member, reader)
            met[name] = met.get(name, 0) + 1
            justification = criteria.justification
            why = reader.value_of(SCORES, justification, member) if justification else None
            yield (
                name if met[name] == 1 else f"{name} ({met[name]})",
                {"score": score, "justification": as_text(why)},
            )


def _name_of(criteria: CriteriaMapping, member: Any, reader: _ExpressionReader) -> str:
    name = as_text(reader.value_of(SCORES, criteria.name, member))
    if not name.strip():
        raise LineError(SCORES, f"has a score without a name: {shorten(criteria.name)} gives nothing")
    return name


def _name(value: Any) -> Any:
    """Convert a number to text. The validator checks other values."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number else value


def _moment(value: Any) -> Any:
    """Convert seconds or milliseconds since 1970 to an ISO timestamp in UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError):
        raise LineError("created_at", f"is {value}, but takes seconds since 1970") from None


_FITTED = (
    dict.fromkeys(_NAMES, _name)
    | dict.fromkeys(_TEXTS, as_text)
    | dict.fromkeys(_RESPONSES, lambda value: value if isinstance(value, dict) else as_text(value))
    | {
        "raw_judge_output": lambda value: (
            value if isinstance(value, dict) else {"raw_content": as_text(value)}
        ),
        "review_reasons": lambda value: [value] if isinstance(value, str) else value,
        "aggregated_score": lambda value: _WORDS_OF_TRUTH[value] if isinstance(value, bool) else value,
        "created_at": _moment,
    }
)
_KNOWN = frozenset(FIELDS)
