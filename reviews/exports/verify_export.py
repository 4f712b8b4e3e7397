"""Does an export hold nothing but its original and human decisions? Files only, no database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from reviews.records.line_splice import Member, members
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.records.shared_prefix import PrefixCounter, read_record_id

SHOWN_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


@dataclass
class Comparison:
    """What was found. `problems` holds the first sentences; `problem_count` counts them all.

    `left_out` counts lines of the originals that are no records, or repeat an id or an earlier file: an
    export leaves them out. `keys` counts in how many changed lines each human_* value differs.
    """

    identical: int = 0
    changed: int = 0
    left_out: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

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
class ChangedLine:
    """A line of the export whose human values are not those of the original."""

    line: int
    evaluation_id: str
    keys: list[str]


@dataclass(frozen=True, slots=True)
class MatchedRecord:
    """A record of the original that stands in the export, in `line` as `text`, changed in `keys`.

    One that the export lacks, as it may, has the line 0; what is no record has no id.
    """

    evaluation_id: str
    line: int
    text: bytes
    keys: list[str]


_NOTHING = MatchedRecord("", 0, b"", [])


# A file as its lines with their line ends (as a binary file iterates), from its start each time it is called.
FileLines = Callable[[], Iterable[bytes]]


def compare(
    originals: Sequence[FileLines],
    exported: Iterable[bytes],
    limits: Limits = Limits(),  # noqa: B008 (immutable)
    *,
    mapping: FieldMapping | None = None,
    may_go: Callable[[int], bool] = lambda _line: False,
    changes: Callable[[ChangedLine], None] = lambda _change: None,
    witness: Callable[[MatchedRecord], Iterable[str]] = lambda _met: (),
) -> Comparison:
    """Compare an export, given as its lines with their line ends, with the files its run was imported from.

    They stand in the order of their imports. `limits` and `mapping` are those of the import: they tell which
    lines are records. `may_go` says of a line of the originals, counted through and asked in order, whether
    the export may lack it though it is one; `changes` is told of each line that holds a decision. `witness`
    is shown each record, the first line of it, and gives sentences about what is wrong with it.
    """
    result = Comparison()
    ids: set[str] = set()
    held = partial(read_record_id, limits, mapping)
    export = _Export(exported)
    if not export.is_empty and any(map(_has_bom, originals[:1])) != export.has_bom:
        result.found("one of the files begins with a byte order mark, the other does not")
    for source in _lines_of(originals, held):
        line = _bare(source.line)
        evaluation_id = held(line)
        # A record counts once: its first line.
        record = "" if evaluation_id in ids else evaluation_id or ""
        is_new = bool(record) or len(line) > limits.line_bytes
        repeated = source.repeats.take(line, evaluation_id, new=is_new)
        if repeated or may_go(source.number):
            result.left_out += 1
            met = MatchedRecord(record, 0, b"", [])
        else:
            met = _meet(source, export, record, held, result)
        if met.evaluation_id:
            if met.keys:
                changes(ChangedLine(met.line, record, met.keys))
            for problem in witness(met):
                result.found(problem)
        ids.add(record)
    while export.line:
        result.found(f"line {export.number} of the export is not in the original")
        export.advance()
    return result


# As `read_record_id`, which knows of limits and mapping already.
_Held = Callable[[bytes], str | None]


class _Source(NamedTuple):
    """A line of the originals, counted through. What `breaks_off` may have a line end in the export."""

    number: int
    line: bytes
    breaks_off: bool
    repeats: PrefixCounter

    def as_before(self, exported: bytes) -> bytes:
        """The line with the line end that it has for a next file, if the line of the export has it."""
        return self.line + b"\n" if self.breaks_off and exported.endswith(b"\n") else self.line


def _lines_of(originals: Sequence[FileLines], held: _Held) -> Iterator[_Source]:
    number = 0
    for place, file in enumerate(originals):
        earlier = (map(_bare, _without_bom(other)) for other in reversed(originals[:place]))
        repeats, is_last = PrefixCounter(earlier, held), place == len(originals) - 1
        for line in _without_bom(file):
            number += 1
            yield _Source(number, line, not line.endswith(b"\n") and not is_last, repeats)


def _meet(source: _Source, export: "_Export", record: str, held: _Held, result: Comparison) -> MatchedRecord:
    """Look for a line of the originals in the export; `record` is the id of the record it holds, if any."""
    met = _NOTHING
    line = source.as_before(export.line)
    if line == export.line:
        result.identical += 1
        met = MatchedRecord(record, export.number, line, [])
        export.advance()
    elif not line.strip():
        result.found(f"line {source.number} of the original is blank and missing in the export")
    elif not record:
        result.left_out += 1
    elif record == held(_bare(export.line)):
        keys = _compare_records(source.number, line, export, result)
        met = MatchedRecord(record, export.number, export.line, keys)
        export.advance()
    else:
        result.found(f"line {source.number} of the original ({record}) is not in its place in the export")
    return met


class _Export:
    """A file that is read line by line: `line` is empty behind its end and lacks the byte order mark."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: Iterator[bytes] = iter(lines)
        first = next(self._lines, b"")
        self.number = 1
        self.is_empty = not first
        self.has_bom = first.startswith(_BOM)
        self.line = first.removeprefix(_BOM)

    def advance(self) -> None:
        self.line = next(self._lines, b"")
        self.number += 1


def _has_bom(file: FileLines) -> bool:
    return next(iter(file()), b"").startswith(_BOM)


def _without_bom(file: FileLines) -> Iterator[bytes]:
    lines = iter(file())
    first = next(lines, b"").removeprefix(_BOM)
    if first:
        yield first
    yield from lines


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def _compare_records(number: int, line: bytes, export: _Export, result: Comparison) -> list[str]:
    """The keys whose values differ between a line of the originals and that of the export."""
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
    """The line without the human values, and without the added keys and the comma before each."""
    parts, position = [], 0
    for member in human:
        comma = line.rfind(b",", position, member.key_start)
        end = comma if member.key in added and comma >= 0 else member.start
        parts.append(line[position:end])
        position = member.end
    return b"".join([*parts, line[position:]])
