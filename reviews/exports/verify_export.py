"""Verify that an export differs from its original files in human decisions only. Uses no database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from reviews.records.line_splice import Member, members
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.records.shared_prefix import PrefixCounter, read_record_id
from reviews.storage.chunks import BOM

SHOWN_PROBLEMS = 20


@dataclass
class Comparison:
    #: Lines of the export that are identical to the original, and lines with changed human_* values.
    identical: int = 0
    changed: int = 0
    #: Lines of the originals that an export omits: invalid ones, and repeats of an id or an earlier file.
    left_out: int = 0
    #: How many changed lines differ in each human_* value.
    keys: Counter[str] = field(default_factory=Counter)
    #: The first `SHOWN_PROBLEMS` problems as sentences, and the number of all problems.
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    #: Whether the export is a table, whose lines are not compared.
    is_table: bool = False

    @property
    def holds(self) -> bool:
        """Whether every difference is a human_* value."""
        return not self.problem_count

    @property
    def changed_keys(self) -> list[str]:
        return [key for key in HUMAN_FIELDS if self.keys[key]]

    def found(self, problem: str) -> None:
        self.problem_count += 1
        if len(self.problems) < SHOWN_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class MatchedRecord:
    """A line of the originals, matched with its line in the export."""

    #: Empty if the line is not a record.
    evaluation_id: str
    #: The number of the line in the export, or 0 if the export omits it.
    line: int
    #: The line as exported.
    text: bytes
    #: The human_* values that differ.
    keys: list[str]


# Opens a file from its start and returns its lines with their line ends.
FileLines = Callable[[], Iterable[bytes]]


def compare(
    originals: Sequence[FileLines],
    exported: Iterable[bytes],
    limits: Limits = Limits(),  # noqa: B008 (immutable)
    *,
    mapping: FieldMapping | None = None,
    may_go: Callable[[int], bool] = lambda _line: False,
    changes: Callable[[MatchedRecord], None] = lambda _change: None,
    witness: Callable[[MatchedRecord], Iterable[str]] = lambda _met: (),
) -> Comparison:
    """Compare an export with the original files of its run, in the order of their imports.

    `exported` has lines with line ends. `limits` and `mapping` are those of the imports. `may_go` is called
    with line numbers, counted through all originals in order; it returns whether the export may omit the
    line. `changes` is called for each line with a changed decision. `witness` is called with the first line
    of each record and returns problems as sentences.
    """
    result = Comparison()
    ids: set[str] = set()
    read_id = partial(read_record_id, limits, mapping)
    export = _Export(exported)
    if not export.is_empty and any(map(_has_bom, originals[:1])) != export.has_bom:
        result.found("one of the files begins with a byte order mark, the other does not")
    for source in _lines_of(originals, read_id):
        line = _bare(source.line)
        evaluation_id = read_id(line)
        # A record counts once: its first line.
        record = "" if evaluation_id in ids else evaluation_id or ""
        is_new = bool(record) or len(line) > limits.line_bytes
        repeated = source.repeats.take(line, evaluation_id, new=is_new)
        if repeated or may_go(source.number):
            result.left_out += 1
            met = MatchedRecord(record, 0, b"", [])
        else:
            met = _meet(source, export, record, read_id, result)
        if met.evaluation_id:
            if met.keys:
                changes(met)
            for problem in witness(met):
                result.found(problem)
        ids.add(record)
    while export.line:
        result.found(f"line {export.number} of the export is not in the original")
        export.advance()
    return result


# `read_record_id` with limits and mapping.
_RecordIdReader = Callable[[bytes], str | None]


class _Source(NamedTuple):
    """A line of the originals, numbered through. If it `breaks_off`, the export may add a line end."""

    number: int
    line: bytes
    breaks_off: bool
    repeats: PrefixCounter

    def as_before(self, exported: bytes) -> bytes:
        """Return the line, with the line end that an export adds before the next file."""
        return self.line + b"\n" if self.breaks_off and exported.endswith(b"\n") else self.line


def _lines_of(originals: Sequence[FileLines], read_id: _RecordIdReader) -> Iterator[_Source]:
    number = 0
    for place, file in enumerate(originals):
        earlier = (map(_bare, _without_bom(other)) for other in reversed(originals[:place]))
        repeats, is_last = PrefixCounter(earlier, read_id), place == len(originals) - 1
        for line in _without_bom(file):
            number += 1
            yield _Source(number, line, not line.endswith(b"\n") and not is_last, repeats)


def _meet(
    source: _Source, export: "_Export", record: str, read_id: _RecordIdReader, result: Comparison
) -> MatchedRecord:
    """Match a line of the originals with the next line of the export. `record` is its id, if any."""
    met = MatchedRecord("", 0, b"", [])
    line = source.as_before(export.line)
    if line == export.line:
        result.identical += 1
        met = MatchedRecord(record, export.number, line, [])
        export.advance()
    elif not line.strip():
        result.found(f"line {source.number} of the original is blank and missing in the export")
    elif not record:
        result.left_out += 1
    elif record == read_id(_bare(export.line)):
        keys = _compare_records(source.number, line, export, result)
        met = MatchedRecord(record, export.number, export.line, keys)
        export.advance()
    else:
        result.found(f"line {source.number} of the original ({record}) is not in its place in the export")
    return met


class _Export:
    """An export that is read line by line. `line` is empty after the end, and has no byte order mark."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: Iterator[bytes] = iter(lines)
        first = next(self._lines, b"")
        self.number = 1
        self.is_empty = not first
        self.has_bom = first.startswith(BOM)
        self.line = first.removeprefix(BOM)

    def advance(self) -> None:
        self.line = next(self._lines, b"")
        self.number += 1


def _has_bom(file: FileLines) -> bool:
    return next(iter(file()), b"").startswith(BOM)


def _without_bom(file: FileLines) -> Iterator[bytes]:
    lines = iter(file())
    if first := next(lines, b"").removeprefix(BOM):
        yield first
    yield from lines


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def _compare_records(number: int, line: bytes, export: _Export, result: Comparison) -> list[str]:
    """Return the human_* keys whose values differ between a line of the originals and its exported line."""
    before, after = _human_members(line), _human_members(export.line)
    added = {member.key for member in after} - {member.key for member in before}
    if _but_human(line, before, set()) != _but_human(export.line, after, added):
        result.found(
            f"line {export.number} of the export differs from line {number} of the original"
            " in more than human_* values"
        )
        return []
    keys = [key for key in HUMAN_FIELDS if _values(line, before, key) != _values(export.line, after, key)]
    result.changed += 1
    result.keys.update(keys)
    return keys


def _human_members(line: bytes) -> list[Member]:
    return [member for member in members(line) if member.key in HUMAN_FIELDS]


def _values(line: bytes, found: list[Member], key: str) -> list[bytes]:
    return [line[member.start : member.end] for member in found if member.key == key]


def _but_human(line: bytes, human: list[Member], added: set[str]) -> bytes:
    """Return the line without the human_* values, the added keys and the comma before each of them."""
    parts, position = [], 0
    for member in human:
        comma = line.rfind(b",", position, member.key_start)
        end = comma if member.key in added and comma >= 0 else member.start
        parts.append(line[position:end])
        position = member.end
    return b"".join([*parts, line[position:]])
