"""Read a rubric from TOML or JSON, with every problem by its place (docs/rubric.md)."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partialmethod
from typing import Any, NamedTuple, get_args

import tomli_w

from reviews.records.rubric import (
    CIRCUMSTANCES,
    DEFAULT_CAUSES,
    DIRECTIONS,
    RULES,
    Cause,
    Criterion,
    Rubric,
    VerdictRule,
)
from reviews.records.scales import YES_PARTIAL_NO, PairwiseScale, RangeScale, Scale, ScaleKind, ValueScale
from reviews.records.schema import type_name
from reviews.records.scores import format_score, is_number, is_score

MAX_BYTES = 256 * 1024
MAX_CRITERIA, MAX_NAME = 100, 200
MAX_CAUSES, MAX_CAUSE = 20, 60
MAX_DESCRIPTION = 10_000
# Characters that the database does not store.
_INVALID = re.compile("[\0\ud800-\udfff]")
_MEMBERS: dict[ScaleKind, tuple[str, ...]] = {
    "values": ("values", "unranked", "pass_from", "partial_from"),
    "boolean": ("best", "pass_from"),
    "integer": ("min", "max", "pass_from", "partial_from", "lower_is_better"),
    "number": ("min", "max", "step", "pass_from", "partial_from", "lower_is_better"),
    "pairwise": ("a", "b", "tie", "both_bad"),
}


class Problem(NamedTuple):
    """A place in a rubric or mapping with the reason why it is invalid."""

    place: str
    reason: str


class RubricError(ValueError):
    """An invalid rubric. `problems` are places and reasons."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = [*problems]
        super().__init__(" ".join(f"{place}: {reason}" for place, reason in self.problems))


def parse_rubric(toml: bytes) -> Rubric:
    """Parse a rubric from TOML. Raises `RubricError` with every problem."""
    if len(toml) > MAX_BYTES:
        raise RubricError([Problem("rubric", f"The file is longer than {MAX_BYTES:,} bytes.")])
    try:
        data = tomllib.loads(toml.decode())
    except UnicodeDecodeError as error:
        raise RubricError([Problem("rubric", f"The file is not UTF-8: byte {error.start + 1}.")]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = str(error).partition("\n")[0][:200]
        raise RubricError([Problem("rubric", f"The file is not TOML: {line}.")]) from None
    return rubric_from_json(data)


def rubric_from_json(data: Any) -> Rubric:
    """Build a rubric from its data; missing parts have defaults. Raises `RubricError` with every problem."""
    reader = _RubricBuilder()
    rubric = reader.rubric(data)
    if problems := reader.problems or [*rubric_problems(rubric)]:
        raise RubricError(problems)
    return rubric


def format_rubric(rubric: Rubric) -> str:
    """Format a rubric as the TOML that `parse_rubric` reads."""
    return tomli_w.dumps(rubric.as_json(), multiline_strings=True)


def rubric_problems(rubric: Rubric) -> Iterator[Problem]:
    """Yield the problems in the values of a rubric."""
    yield from _prefixed("scale", rubric.scale.problems())
    yield from _prefixed("verdict", rubric.rule.problems())
    ranges = [scale for scale in rubric.scales if isinstance(scale, RangeScale)]
    if rubric.rule.is_mean and any(scale.lower_is_better for scale in ranges):
        yield Problem("verdict.rule", "A mean needs scales on which higher numbers are better.")
    names = [criterion.name for criterion in rubric.criteria]
    yield from _problems_of_names("criteria", names, MAX_CRITERIA, MAX_NAME)
    for place, criterion in enumerate(rubric.criteria, start=1):
        yield from _prefixed(f"criteria[{place}]", _problems_of_criterion(criterion))
    yield from _problems_of_names("causes", [cause.word for cause in rubric.causes], MAX_CAUSES, MAX_CAUSE)


def _problems_of_criterion(criterion: Criterion) -> Iterator[tuple[str, str]]:
    if len(criterion.title) > MAX_NAME or not criterion.title.isprintable():
        yield "title", f"A title has at most {MAX_NAME} characters, all of them printable."
    if len(criterion.description) > MAX_DESCRIPTION or _INVALID.search(criterion.description):
        yield (
            "description",
            f"A description has at most {MAX_DESCRIPTION:,} characters, and no null or lone surrogate.",
        )
    if not 0 <= criterion.weight <= 1000:
        yield "weight", "A weight is a number from 0 to 1,000."
    if criterion.scale:
        yield from _prefixed("scale", criterion.scale.problems())


def _problems_of_names(many: str, names: list[str], most: int, longest: int) -> Iterator[Problem]:
    if len(names) > most:
        yield Problem(many, f"A run has at most {most} {many}, not {len(names):,}.")
    for place, name in enumerate(names[:most], start=1):
        if len(name) > longest or not name.isprintable() or not name.strip():
            yield Problem(f"{many}[{place}]", f"A name has 1 to {longest} characters, all of them printable.")
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(many, f"“{format_score(name)}” is listed twice.")


def _prefixed(place: str, problems: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    for name, reason in problems:
        yield Problem(f"{place}.{name}", reason)


class _Table(NamedTuple):
    place: str
    members: dict[str, Any]


class _RubricBuilder:
    """Build the parts of a rubric, and collect members of a wrong type or name."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def rubric(self, data: Any) -> Rubric:
        table = self._table("rubric", data, ("verdict", "scale", "criteria", "causes"))
        causes = [self._cause(place, entry) for place, entry in self._entries("causes", table)]
        return Rubric(
            tuple(self._criterion(place, entry) for place, entry in self._entries("criteria", table)),
            self._scale("scale", table.members["scale"]) if "scale" in table.members else YES_PARTIAL_NO,
            self._rule(table.members.get("verdict", {})),
            tuple(causes) if "causes" in table.members else DEFAULT_CAUSES,
        )

    def _rule(self, data: Any) -> VerdictRule:
        table = self._table(
            "verdict",
            {"rule": data} if isinstance(data, str) else data,
            ("rule", "pass_from", "partial_from"),
        )
        kind = table.members.get("rule", "worst")
        if not isinstance(kind, str) or kind not in RULES:
            self._add("verdict.rule", f"This must be one of {', '.join(RULES)}.")
            kind = "worst"
        limits = [self._number(table, name) for name in ("pass_from", "partial_from")]
        rule = VerdictRule(kind)
        return VerdictRule(kind, *limits) if rule.is_mean else rule

    def _criterion(self, place: str, entry: Any) -> Criterion:
        known = ("name", "title", "description", "required", "weight", "scale")
        table = self._table(place, entry, known)
        weight = self._number(table, "weight")
        return Criterion(
            name=self._text(table, "name"),
            title=self._text(table, "title"),
            # A browser sends CRLF, which TOML does not keep.
            description=self._text(table, "description").replace("\r\n", "\n"),
            is_required=self._flag(table, "required", default=True),
            weight=1 if weight is None else weight,
            scale=self._scale(f"{place}.scale", table.members["scale"]) if "scale" in table.members else None,
        )

    def _cause(self, place: str, entry: Any) -> Cause:
        table = self._table(
            place, {"title": entry} if isinstance(entry, str) else entry, ("title", "directions", "needs")
        )
        return Cause(
            self._text(table, "title"),
            self._words(table, "directions", DIRECTIONS),
            self._words(table, "needs", CIRCUMSTANCES),
        )

    def _scale(self, place: str, data: Any) -> Scale:
        data = {"kind": data} if isinstance(data, str) else data
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in _MEMBERS:
            self._add(f"{place}.kind", f"This must be one of {', '.join(get_args(ScaleKind))}.")
            return YES_PARTIAL_NO
        table = self._table(place, data, ("kind", *_MEMBERS[kind]))
        build: Callable[[_Table], Scale] = getattr(self, f"_{kind}_scale")
        return build(table)

    def _values_scale(self, table: _Table) -> Scale:
        return ValueScale(
            self._scores(table, "values"),
            self._score(table, "pass_from"),
            self._score(table, "partial_from"),
            self._scores(table, "unranked"),
        )

    def _boolean_scale(self, table: _Table) -> Scale:
        best = self._flag(table, "best", default=True)
        return ValueScale((best, not best), self._flag(table, "pass_from", default=best))

    def _range(self, table: _Table, *, is_integer: bool) -> Scale:
        for name in ("min", "max"):
            if name not in table.members:
                self._add(f"{table.place}.{name}", "This is missing.")
        return RangeScale(
            self._number(table, "min") or 0,
            self._number(table, "max") or 0,
            is_integer,
            self._number(table, "step"),
            self._number(table, "pass_from"),
            self._number(table, "partial_from"),
            self._flag(table, "lower_is_better", default=False),
        )

    _integer_scale = partialmethod(_range, is_integer=True)
    _number_scale = partialmethod(_range, is_integer=False)

    def _pairwise_scale(self, table: _Table) -> Scale:
        given = {name: self._score(table, name) for name in _MEMBERS["pairwise"]}
        usual = PairwiseScale()
        # Without any of them, the usual words; a file that names the outcomes may have no tie.
        tie = given["tie"] if table.members.keys() & {"a", "b", "tie"} else usual.tie
        return PairwiseScale(
            usual.a if given["a"] is None else given["a"],
            usual.b if given["b"] is None else given["b"],
            tie,
            given["both_bad"],
        )

    # Members by type

    def _add(self, place: str, reason: str) -> None:
        self.problems.append(Problem(place, reason))

    def _table(self, place: str, data: Any, known: tuple[str, ...]) -> _Table:
        if not isinstance(data, Mapping):
            self._add(place, f"This is {type_name(data)}, but takes a table.")
            return _Table(place, {})
        for name in data:
            if name not in known:
                self._add(f"{place}.{name}", f"This is not one of {', '.join(known)}.")
        members = {name: value for name, value in data.items() if name in known and value is not None}
        return _Table(place, members)

    def _entries(self, part: str, table: _Table) -> Iterator[tuple[str, Any]]:
        listed = table.members.get(part, [])
        if not isinstance(listed, list):
            self._add(part, f"This is {type_name(listed)}, but takes a list.")
            return
        for place, entry in enumerate(listed, start=1):
            yield f"{part}[{place}]", entry

    def _text(self, table: _Table, name: str) -> str:
        return str(self._member(table, name, "", lambda one: isinstance(one, str), "a text"))

    def _flag(self, table: _Table, name: str, *, default: bool) -> bool:
        return bool(self._member(table, name, default, lambda one: isinstance(one, bool), "true or false"))

    def _number(self, table: _Table, name: str) -> Any:
        return self._member(table, name, None, is_number, "a number")

    def _score(self, table: _Table, name: str) -> Any:
        return self._member(table, name, None, is_score, "a number, true, false or a text")

    def _scores(self, table: _Table, name: str) -> tuple[Any, ...]:
        is_list = lambda one: isinstance(one, list) and all(map(is_score, one))  # noqa: E731 (a predicate)
        return tuple(self._member(table, name, (), is_list, "a list of numbers, true, false and texts"))

    def _words(self, table: _Table, name: str, known: tuple[Any, ...]) -> tuple[Any, ...]:
        is_list = lambda one: isinstance(one, list) and all(word in known for word in one)  # noqa: E731
        return tuple(self._member(table, name, (), is_list, f"a list of {', '.join(known)}"))

    def _member(self, table: _Table, name: str, default: Any, fits: Callable[[Any], bool], takes: str) -> Any:
        value = table.members.get(name, default)
        if name in table.members and not fits(value):
            self._add(f"{table.place}.{name}", f"This is {type_name(value)}, but takes {takes}.")
            return default
        return value
