"""Parse mappings: they give an expression for each field of a record, so that files of other tools are read.

A mapping is written as TOML (docs/mapping.md) with JMESPath expressions (https://jmespath.org).
`translation` reads lines by it.
"""

import datetime as dt
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from itertools import starmap
from typing import Any

import tomli_w

from reviews.records import expressions
from reviews.records.expressions import ExpressionError, first_line
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import Problem, RubricError, rubric_from_json
from reviews.records.schema import FIELDS, HUMAN_FIELDS, LineError, type_name
from reviews.records.task_context import CONTEXT_FIELDS
from reviews.records.wording import abbreviate

MOST_BYTES = 64 * 1024
_LONGEST_SHOWN = 200
# The maximum number of criteria, and of rules.
_MOST_ENTRIES = 200
_PARTS = ("records", "inherit", "archive", "fields", "criteria", "review", "rubric")
_NEEDED = ("judge_llm_model", "judge_prompt_template_path", "created_at")
# An id has to be the same when an export is imported again: it is read from the content of the file alone.
_OF_CONTENT = {"doc"}
_NO_ARCHIVE = {"records": "*"}
SCORES = "parsed_rubric_scores"
BY_RULES = ("needs_human_review", "review_reasons")
# Fields with the same meaning, of which a mapping sets one.
_EITHER = (("responses", "structured_model_response"), ("reference", "structured_ideal_response"))
# The fields that a mapping can set.
_TARGETS = (*FIELDS, *CONTEXT_FIELDS)


class MappingError(Exception):
    """An invalid mapping. `problems` are places and reasons."""

    def __init__(self, problems: list[Problem]) -> None:
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


@dataclass(frozen=True, slots=True)
class ArchiveMapping:
    """The files of an archive that are read."""

    #: A pattern for the names of the files that are records, such as `samples/*.json`.
    records: str
    #: The name of the file that is `$doc`.
    document: str = ""


@dataclass(frozen=True, slots=True)
class Outside:
    """Values of expressions from outside the record, which are the same for all records of an import."""

    #: `$file`: the name of the imported file.
    file: str | None = None
    #: `$import`: the number of the import.
    source_id: int | None = None
    #: `$run`: the name of the run.
    run: str | None = None
    #: `$received_at`: the time at which the file was received, in ISO 8601.
    received_at: str | None = None
    #: `$doc`: the document without its list of records, or None for a file of lines.
    document: Any = None

    def values(self, line: int | None) -> dict[str, Any]:
        """Return the values by name, for the line of that number."""
        return dict(
            zip(
                expressions.OUTSIDE_NAMES,
                (self.document, self.file, line, self.source_id, self.run, self.received_at),
                strict=True,
            )
        )


@dataclass(frozen=True)
class FieldMapping:
    """Expressions for the fields and criteria of a record, and rules that flag records."""

    fields: tuple[tuple[str, str], ...]
    criteria: tuple[CriteriaMapping, ...] = ()
    review: tuple[ReviewRule, ...] = ()
    #: Whether fields without an expression are taken from the line's own keys of the same names.
    inherit: bool = False
    #: The path of the list of records in a JSON document. Files of lines are read without it.
    records: str = ""
    #: The files of an archive that are read, if the tool writes archives.
    archive: ArchiveMapping | None = None
    #: The rubric that a run with the mapping gets, unless it has a declared one.
    rubric: Rubric | None = None
    #: Values from outside the record. They are not part of the mapping itself.
    outside: Outside = field(default=Outside(), compare=False)

    def of_import(self, outside: Outside) -> "FieldMapping":
        """Return the mapping with values from outside the record. It keeps only those that it uses."""
        return replace(self, outside=outside if self.uses_document else replace(outside, document=None))

    @property
    def record_path(self) -> tuple[str, ...]:
        """The keys that lead to the list of records in a document, or none."""
        return expressions.plain_path(self.records) if self.records else ()

    @property
    def uses_document(self) -> bool:
        """Whether an expression uses the document around the list of records."""
        return "doc" in self._outside_names

    @property
    def varies_by_import(self) -> bool:
        """Whether the same line may give another record in another import."""
        return bool(self._outside_names - _OF_CONTENT)

    @cached_property
    def _outside_names(self) -> set[str]:
        criteria, review = [*map(asdict, self.criteria)], [*map(asdict, self.review)]
        found = _expressions(dict(self.fields), criteria, review)
        return set().union(*(expressions.outside_names(expression) for _, expression in found))

    def as_json(self) -> dict[str, Any]:
        """Return the data that `mapping_from_json` reads."""
        head: dict[str, Any] = {
            "records": self.records,
            "inherit": self.inherit,
            "archive": asdict(self.archive) if self.archive else None,
            "rubric": self.rubric.as_json() if self.rubric else None,
        }
        return {name: value for name, value in head.items() if value} | {
            "fields": dict(self.fields),
            "criteria": [asdict(criteria) for criteria in self.criteria],
            "review": [asdict(rule) for rule in self.review],
        }

    @cached_property
    def taken_whole(self) -> frozenset[str]:
        """The keys that a field copies unchanged. They are not repeated as extra keys."""
        return frozenset(expression for _, expression in self.fields)

    def explained(self, error: LineError) -> LineError:
        """Return the error with the expression that caused it."""
        expression = dict(self.fields).get(error.field)
        hint = f" (by the mapping: {shorten(expression)})" if expression else ""
        return LineError(error.field, f"{error.problem}{hint}", error.more)


def shorten(expression: str) -> str:
    """Shorten an expression for an error message."""
    return abbreviate(expression, _LONGEST_SHOWN)


def parse_mapping(toml: bytes) -> FieldMapping:
    """Parse a mapping from TOML. Raises `MappingError`."""
    if len(toml) > MOST_BYTES:
        raise MappingError([Problem("mapping", f"is longer than {MOST_BYTES:,} bytes")])
    try:
        data = tomllib.loads(toml.decode())
    except UnicodeDecodeError as error:
        raise MappingError([Problem("mapping", f"is not UTF-8: byte {error.start + 1}")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MappingError([Problem("mapping", f"is not TOML: {first_line(error)}")]) from None
    return mapping_from_json(data)


def format_mapping(wanted: FieldMapping) -> str:
    """Return a mapping as TOML that `parse_mapping` reads."""
    data = wanted.as_json()
    for part in ("criteria", "review"):
        data[part] = [{name: text for name, text in entry.items() if text} for entry in data[part]]
    return tomli_w.dumps({part: value for part, value in data.items() if value})


def mapping_from_json(data: dict[str, Any]) -> FieldMapping:
    """Build a mapping from its data. Raises `MappingError` with every problem."""
    known = ", ".join(_PARTS)
    problems = [Problem(name, f"is not part of a mapping: {known}") for name in data if name not in _PARTS]
    fields = _table("fields", data.get("fields", {}), problems)
    criteria = _entries("criteria", CriteriaMapping, data, problems)
    review = _entries("review", ReviewRule, data, problems)
    inherit = data.get("inherit", False)
    if not isinstance(inherit, bool):
        problems.append(Problem("inherit", f"is {_kind(inherit)}, but takes true or false"))
    records = data.get("records", "")
    problems += _problems_of_path(records)
    archive = _entry("archive", ArchiveMapping, data.get("archive", _NO_ARCHIVE), problems)
    rubric = _rubric(data["rubric"], problems) if "rubric" in data else None
    problems += _problems_of_fields(
        fields, has_criteria=bool(criteria), has_review=bool(review), inherits=bool(inherit)
    )
    problems += filter(None, starmap(_problem_of, _expressions(fields, criteria, review)))
    if problems:
        raise MappingError(problems)
    return FieldMapping(
        tuple((name, fields[name]) for name in _TARGETS if name in fields),
        tuple(CriteriaMapping(**entry) for entry in criteria),
        tuple(ReviewRule(**entry) for entry in review),
        inherit,
        records,
        ArchiveMapping(**archive) if "archive" in data else None,
        rubric,
    )


def _rubric(data: Any, problems: list[Problem]) -> Rubric | None:
    try:
        return rubric_from_json(data)
    except RubricError as error:
        problems += [Problem(f"rubric.{place}", reason) for place, reason in error.problems]
        return None


def _table(place: str, value: Any, problems: list[Problem]) -> dict[str, str]:
    """Return the strings of a table, and report other values as problems."""
    if not isinstance(value, dict):
        problems.append(Problem(place, f"is {type_name(value)}, but takes a table"))
        return {}
    for name, text in value.items():
        if not isinstance(text, str):
            problems.append(
                Problem(f"{place}.{name}", f"is {_kind(text)}, but takes an expression in quotes")
            )
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _entries(
    part: str, shape: type[Any], data: dict[str, Any], problems: list[Problem]
) -> list[dict[str, str]]:
    listed = data.get(part, [])
    if not isinstance(listed, list):
        problems.append(Problem(part, f"is {_kind(listed)}, but takes tables: [[{part}]]"))
        return []
    if len(listed) > _MOST_ENTRIES:
        problems.append(Problem(part, f"has more than {_MOST_ENTRIES} tables"))
        return []
    return [
        _entry(f"{part}[{number}]", shape, entry, problems) for number, entry in enumerate(listed, start=1)
    ]


def _entry(place: str, shape: type[Any], entry: Any, problems: list[Problem]) -> dict[str, str]:
    """Return the strings of a table with the fields of a dataclass."""
    known = [field.name for field in dataclass_fields(shape)]
    needed = [field.name for field in dataclass_fields(shape) if field.default is MISSING]
    table = _table(place, entry, problems)
    odd = [name for name in table if name not in known]
    problems += [Problem(f"{place}.{name}", f"is not one of {', '.join(known)}") for name in odd]
    problems += [Problem(f"{place}.{name}", "is missing") for name in needed if not table.get(name)]
    return table


def _problems_of_path(records: Any) -> Iterator[Problem]:
    if not isinstance(records, str):
        yield Problem("records", f"is {_kind(records)}, but takes a path in quotes")
    elif records:
        try:
            expressions.plain_path(records)
        except ExpressionError as error:
            yield Problem("records", str(error))


def _problems_of_fields(
    fields: dict[str, str], *, has_criteria: bool, has_review: bool, inherits: bool
) -> Iterator[Problem]:
    for name in fields:
        if name in HUMAN_FIELDS:
            yield Problem(f"fields.{name}", "is read from the line's own key of that name")
        elif name not in _TARGETS:
            yield Problem(f"fields.{name}", "is not a field of a record")
    for name in _NEEDED:
        if name not in fields and not inherits:
            yield Problem(f"fields.{name}", "is missing: give a path, or a text in quotes of its own")
    for name in (SCORES,) * has_criteria + BY_RULES * has_review:
        if name in fields:
            part = "criteria" if name == SCORES else "review"
            yield Problem(f"fields.{name}", f"conflicts with [[{part}]], which sets the same field")
    for name, other in _EITHER:
        if name in fields and other in fields:
            yield Problem(f"fields.{name}", f"conflicts with fields.{other}: set one of them")


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


def _problem_of(place: str, expression: str) -> Problem | None:
    """Return the problem of an expression, if any."""
    try:
        names = expressions.outside_names(expression)
    except ExpressionError as error:
        return Problem(place, str(error))
    if place == "fields.evaluation_id" and (varying := sorted(names - _OF_CONTENT)):
        reason = f"has ${varying[0]}, but an id takes values of the file alone, to stay the same later"
        return Problem(place, reason)
    return None


def _kind(value: Any) -> str:
    """Name the type of a TOML value."""
    is_time = isinstance(value, dt.date | dt.time)
    return "a date or time" if is_time else type_name(value)
