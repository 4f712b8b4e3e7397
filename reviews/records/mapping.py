"""Read lines of other evaluation tools as records: a mapping gives an expression for each field.

A mapping is written as TOML (docs/mapping.md) with JMESPath expressions (https://jmespath.org). It never
changes a line: it translates the line to one that the pipeline would have written, which is parsed like any
other. Decisions are stored in the original line as human_* keys, and read from there.
"""

import datetime as dt
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass
from dataclasses import fields as dataclass_fields
from functools import cached_property
from itertools import starmap
from typing import Any, NamedTuple

import orjson

from reviews.records import expressions
from reviews.records.expressions import Budget, ExpressionError, first_line
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

MOST_BYTES = 64 * 1024
_LONGEST_SHOWN = 200
# The maximum number of criteria, and of rules.
_MOST_ENTRIES = 200
_PARTS = ("fields", "criteria", "review")
_NEEDED = ("evaluation_id", "judge_llm_model", "judge_prompt_template_path", "created_at")
_NAMES = (*_NEEDED[:3], "task_id", "model_id", "response_id", "ideal_response_id")
_TEXTS = ("verification_message", "parsing_error")
_RESPONSES = ("structured_model_response", "structured_ideal_response")
_BY_RULES = ("needs_human_review", "review_reasons")
# A timestamp from here on is in milliseconds: in seconds it would be in the year 5138.
_MILLISECONDS = 10**11
_WORDS_OF_TRUTH = {True: "Pass", False: "Fail"}


class _Problem(NamedTuple):
    """A place in a mapping with the reason why it is invalid."""

    place: str
    reason: str


class MappingError(Exception):
    """An invalid mapping. `problems` are places and reasons."""

    def __init__(self, problems: list[_Problem]) -> None:
        super().__init__("; ".join(": ".join(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class CriteriaMapping:
    """Expressions for the criteria of a line: one criterion, or with `each` one per member.

    `each` gives a list or object, and the other expressions apply to its members. The members of an object
    are `{"key": ..., "value": ...}`.
    """

    name: str
    score: str
    justification: str = ""
    each: str = ""


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """Flag a record with the reason if the expression `when` is true."""

    when: str
    reason: str


@dataclass(frozen=True)
class FieldMapping:
    """Expressions for the fields and criteria of a record, and rules that flag records."""

    fields: tuple[tuple[str, str], ...]
    criteria: tuple[CriteriaMapping, ...] = ()
    review: tuple[ReviewRule, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the data that `mapping_from_json` reads."""
        return {
            "fields": dict(self.fields),
            "criteria": [asdict(criteria) for criteria in self.criteria],
            "review": [asdict(rule) for rule in self.review],
        }

    @cached_property
    def _taken_whole(self) -> frozenset[str]:
        """The keys that a field copies unchanged. They are not repeated as extra keys."""
        return frozenset(expression for _, expression in self.fields)

    def translated(self, line: bytes, limits: Limits) -> bytes:
        """Translate a line to one that the pipeline would have written. Raises `LineError`."""
        source = read_object(line, limits)
        budget = Budget(len(line), limits.line_bytes)
        record = {
            name: _FITTED[name](value) if name in _FITTED else value
            for name, value in self._values(source, budget)
        }
        record.setdefault("raw_judge_output", {})
        record.setdefault("parsed_rubric_scores", {})
        if self.criteria:
            record["parsed_rubric_scores"] = dict(self._scores(source, budget))
        reasons = [rule.reason for rule in self.review if _value("review", rule.when, source, budget)]
        needs_review = record.setdefault("needs_human_review", bool(reasons) or not self.review)
        record.setdefault("review_reasons", reasons)
        record["human_review_status"] = "Needs Review" if needs_review else "Not Required"
        record |= {name: source[name] for name in HUMAN_FIELDS if name in source}
        others = {key: value for key, value in source.items() if key not in self._taken_whole | _KNOWN}
        try:
            return orjson.dumps(others | record)
        except TypeError as error:  # nested too deep, or built by an expression
            raise LineError("", f"is not valid JSON by the mapping: {error}") from None

    def _values(self, source: Mapping[str, Any], budget: Budget) -> Iterator[tuple[str, Any]]:
        for name, expression in self.fields:
            value = _value(name, expression, source, budget)
            if value is not None:
                yield name, value

    def _scores(self, source: Mapping[str, Any], budget: Budget) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each criterion with its score. Duplicate names are numbered."""
        met: dict[str, int] = {}
        for criteria in self.criteria:
            for member in _members(criteria.each, source, budget):
                score = _value(_SCORES, criteria.score, member, budget)
                if score is None:
                    continue
                if isinstance(score, dict | list):
                    raise LineError(
                        _SCORES, f"has {type_name(score)} as a score: {_short(criteria.score)} gives that"
                    )
                name = _name_of(criteria, member, budget)
                met[name] = met.get(name, 0) + 1
                justification = criteria.justification
                why = _value(_SCORES, justification, member, budget) if justification else None
                yield (
                    name if met[name] == 1 else f"{name} ({met[name]})",
                    {"score": score, "justification": "" if why is None else _text(why)},
                )

    def explained(self, error: LineError) -> LineError:
        """Return the error with the expression that caused it."""
        expression = dict(self.fields).get(error.field)
        reason = f"{error.reason} (by the mapping: {_short(expression)})" if expression else error.reason
        return LineError(error.field, reason)


def read_line(line: bytes, limits: Limits = NO_LIMITS, mapping: FieldMapping | None = None) -> Record:
    """Parse a line, by the mapping if there is one. Raises `LineError`."""
    if mapping is None:
        return parse_line(line, limits)
    return read_translated(mapping.translated(line, limits), limits, mapping)


def read_translated(line: bytes, limits: Limits, mapping: FieldMapping) -> Record:
    """Parse a line that `mapping.translated` returned. Raises `LineError`."""
    try:
        return parse_line(line, limits)
    except LineError as error:
        raise mapping.explained(error) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name(value: Any) -> Any:
    """Convert a number to text. The validator checks other values."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number else value


def _raw_output(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"raw_content": _text(value)}


def _response(value: Any) -> Any:
    return value if isinstance(value, dict) else _text(value)


def _reasons(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _verdict(value: Any) -> Any:
    return _WORDS_OF_TRUTH[value] if isinstance(value, bool) else value


def _moment(value: Any) -> Any:
    """Convert seconds or milliseconds since 1970 to an ISO timestamp in UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError):
        raise LineError("created_at", f"is {value}, but takes seconds since 1970") from None


_SCORES = "parsed_rubric_scores"
_FITTED = (
    dict.fromkeys(_NAMES, _name)
    | dict.fromkeys(_TEXTS, _text)
    | dict.fromkeys(_RESPONSES, _response)
    | {
        "raw_judge_output": _raw_output,
        "review_reasons": _reasons,
        "aggregated_score": _verdict,
        "created_at": _moment,
    }
)
_KNOWN = frozenset(FIELDS)


def _members(each: str, source: Mapping[str, Any], budget: Budget) -> list[Any]:
    if not each:
        return [source]
    found = _value(_SCORES, each, source, budget)
    if isinstance(found, dict):
        return [{"key": key, "value": value} for key, value in found.items()]
    if found is not None and not isinstance(found, list):
        takes = f"takes a list or an object: {_short(each)}"
        raise LineError(_SCORES, f"is {type_name(found)} by the mapping, but {takes}")
    return found or []


def _name_of(criteria: CriteriaMapping, member: Any, budget: Budget) -> str:
    name = _value(_SCORES, criteria.name, member, budget)
    if name is None or not _text(name).strip():
        raise LineError(_SCORES, f"has a score without a name: {_short(criteria.name)} gives nothing")
    return _text(name)


def _value(field: str, expression: str, data: Any, budget: Budget) -> Any:
    try:
        return expressions.value(expression, data, budget)
    except ExpressionError as error:
        raise LineError(field, f"has no value by the mapping: {_short(expression)}: {error}") from None


def _short(expression: str) -> str:
    """Shorten an expression for an error message."""
    return expression if len(expression) <= _LONGEST_SHOWN else f"{expression[:_LONGEST_SHOWN]}…"


def parse_mapping(toml: bytes) -> FieldMapping:
    """Parse a mapping from TOML. Raises `MappingError`."""
    if len(toml) > MOST_BYTES:
        raise MappingError([_Problem("mapping", f"is longer than {MOST_BYTES:,} bytes")])
    try:
        data = tomllib.loads(toml.decode())
    except UnicodeDecodeError as error:
        raise MappingError([_Problem("mapping", f"is not UTF-8: byte {error.start + 1}")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MappingError([_Problem("mapping", f"is not TOML: {first_line(error)}")]) from None
    return mapping_from_json(data)


def mapping_from_json(data: dict[str, Any]) -> FieldMapping:
    """Build a mapping from its data. Raises `MappingError` with every problem."""
    known = ", ".join(_PARTS)
    problems = [_Problem(name, f"is not part of a mapping: {known}") for name in data if name not in _PARTS]
    fields = _table("fields", data.get("fields", {}), problems)
    criteria = _entries("criteria", CriteriaMapping, data, problems)
    review = _entries("review", ReviewRule, data, problems)
    problems += _problems_of_fields(fields, has_criteria=bool(criteria), has_review=bool(review))
    problems += filter(None, starmap(_problem_of, _expressions(fields, criteria, review)))
    if problems:
        raise MappingError(problems)
    return FieldMapping(
        tuple((name, fields[name]) for name in FIELDS if name in fields),
        tuple(CriteriaMapping(**entry) for entry in criteria),
        tuple(ReviewRule(**entry) for entry in review),
    )


def _table(place: str, value: Any, problems: list[_Problem]) -> dict[str, str]:
    """Return the strings of a table, and report other values as problems."""
    if not isinstance(value, dict):
        problems.append(_Problem(place, f"is {type_name(value)}, but takes a table"))
        return {}
    for name, text in value.items():
        if not isinstance(text, str):
            problems.append(
                _Problem(f"{place}.{name}", f"is {_kind(text)}, but takes an expression in quotes")
            )
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _entries(
    part: str, shape: type[CriteriaMapping] | type[ReviewRule], data: dict[str, Any], problems: list[_Problem]
) -> list[dict[str, str]]:
    listed = data.get(part, [])
    if not isinstance(listed, list):
        problems.append(_Problem(part, f"is {_kind(listed)}, but takes tables: [[{part}]]"))
        return []
    if len(listed) > _MOST_ENTRIES:
        problems.append(_Problem(part, f"has more than {_MOST_ENTRIES} tables"))
        return []
    known = [field.name for field in dataclass_fields(shape)]
    needed = [field.name for field in dataclass_fields(shape) if field.default is MISSING]
    tables = []
    for number, entry in enumerate(listed, start=1):
        place = f"{part}[{number}]"
        table = _table(place, entry, problems)
        odd = [name for name in table if name not in known]
        problems += [_Problem(f"{place}.{name}", f"is not one of {', '.join(known)}") for name in odd]
        problems += [_Problem(f"{place}.{name}", "is missing") for name in needed if not table.get(name)]
        tables.append(table)
    return tables


def _problems_of_fields(
    fields: dict[str, str], *, has_criteria: bool, has_review: bool
) -> Iterator[_Problem]:
    for name in fields:
        if name in HUMAN_FIELDS:
            yield _Problem(f"fields.{name}", "is read from the line's own key of that name")
        elif name not in FIELDS:
            yield _Problem(f"fields.{name}", "is not a field of a record")
    for name in _NEEDED:
        if name not in fields:
            yield _Problem(f"fields.{name}", "is missing: give a path, or a text in quotes of its own")
    for name in (_SCORES,) * has_criteria + _BY_RULES * has_review:
        if name in fields:
            part = "criteria" if name == _SCORES else "review"
            yield _Problem(f"fields.{name}", f"conflicts with [[{part}]], which sets the same field")


def _expressions(
    fields: dict[str, str], criteria: list[dict[str, str]], review: list[dict[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield every expression with its place."""
    for name, expression in fields.items():
        yield f"fields.{name}", expression
    for part, entries in (("criteria", criteria), ("review", review)):
        for number, entry in enumerate(entries, start=1):
            for name, text in entry.items():
                if text and (part, name) != ("review", "reason"):
                    yield f"{part}[{number}].{name}", text


def _problem_of(place: str, expression: str) -> _Problem | None:
    """Return the problem of an expression, if any."""
    try:
        expressions.compiled(expression)
    except ExpressionError as error:
        return _Problem(place, str(error))
    return None


def _kind(value: Any) -> str:
    """Name the type of a TOML value."""
    is_time = isinstance(value, dt.date | dt.time)
    return "a date or time" if is_time else type_name(value)
