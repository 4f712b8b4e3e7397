"""Does an export hold nothing but its original and human decisions? Files only, no database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from reviews.mapping import Mapping, read_line
from reviews.record import HUMAN_FIELDS, Limits, LineError
from reviews.splice import Member, members

SHOWN_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


@dataclass
class Comparison:
    """What was found. `problems` holds the first sentences; `problem_count` counts them all.

    `left_out` counts lines of the original that are no records, or repeat an id: an export leaves
    them out. `keys` counts in how many changed lines each human_* value differs.
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
class Change:
    """A line of the export whose human values are not those of the original."""

    line: int
    evaluation_id: str
    keys: list[str]


@dataclass(frozen=True, slots=True)
class Met:
    """A record of the original that stands in the export, in `line` as `text`, changed in `keys`.

    One that the export lacks, as it may, has the line 0; what is no record has no id.
    """

    evaluation_id: str
    line: int
    text: bytes
    keys: list[str]


_NOTHING = Met("", 0, b"", [])


def compare(
    original: Iterable[bytes],
    exported: Iterable[bytes],
    limits: Limits = Limits(),  # noqa: B008 (immutable)
    *,
    mapping: Mapping | None = None,
    may_go: Callable[[int], bool] = lambda _line: False,
    changes: Callable[[Change], None] = lambda _change: None,
    witness: Callable[[Met], Iterable[str]] = lambda _met: (),
) -> Comparison:
    """Compare two files, each given as its lines with their line ends (as a binary file iterates).

    `limits` and `mapping` are those of the import: they tell which lines of the original are records.
    `may_go` says of a line of the original, asked in order, whether the export may lack it though it is one;
    `changes` is told of each line that holds a decision. `witness` is shown each record, the first line of
    it, and gives sentences about what is wrong with it.
    """
    result = Comparison()
    ids: set[str] = set()
    id_of = partial(_id_of, limits, mapping)
    source, export = _Lines(original), _Lines(exported)
    if source.has_bom != export.has_bom:
        result.found("one of the files begins with a byte order mark, the other does not")
    while source.line:
        evaluation_id = id_of(source.line)
        # A record counts once: its first line.
        record = "" if evaluation_id in ids else evaluation_id
        if may_go(source.number):
            result.left_out += 1
            met = Met(record, 0, b"", [])
        else:
            met = _meet(source, export, record, id_of, result)
        if met.evaluation_id:
            if met.keys:
                changes(Change(met.line, record, met.keys))
            for problem in witness(met):
                result.found(problem)
        ids.add(evaluation_id)
        source.advance()
    while export.line:
        result.found(f"line {export.number} of the export is not in the original")
        export.advance()
    return result


def _meet(
    source: "_Lines", export: "_Lines", record: str, id_of: Callable[[bytes], str], result: Comparison
) -> Met:
    """Look for a line of the original in the export; `record` is the id of the record it holds, if any."""
    met = _NOTHING
    if source.line == export.line:
        result.identical += 1
        met = Met(record, export.number, export.line, [])
        export.advance()
    elif not source.line.strip():
        result.found(f"line {source.number} of the original is blank and missing in the export")
    elif not record:
        result.left_out += 1
    elif record == id_of(export.line):
        met = Met(record, export.number, export.line, _compare_records(source, export, result))
        export.advance()
    else:
        result.found(f"line {source.number} of the original ({record}) is not in its place in the export")
    return met


def joined(files: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """The lines of several files as an export joins them: what lacks a line end gets one before the next."""
    last = b""
    for lines in files:
        for number, line in enumerate(lines):
            if last:
                yield last if last.endswith(b"\n") else last + b"\n"
                line = line.removeprefix(_BOM) if number == 0 else line  # noqa: PLW2901
            last = line
    if last:
        yield last


class _Lines:
    """A file that is read line by line: `line` is empty behind its end and lacks the byte order mark."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: Iterator[bytes] = iter(lines)
        first = next(self._lines, b"")
        self.number = 1
        self.has_bom = first.startswith(_BOM)
        self.line = first.removeprefix(_BOM)

    def advance(self) -> None:
        self.line = next(self._lines, b"")
        self.number += 1


def _id_of(limits: Limits, mapping: Mapping | None, line: bytes) -> str:
    """The evaluation_id of a line that is a record, else an empty string."""
    try:
        return read_line(line.removesuffix(b"\n"), limits, mapping).evaluation_id
    except LineError:
        return ""


def _compare_records(source: _Lines, export: _Lines, result: Comparison) -> list[str]:
    """The keys whose values differ."""
    before, after = _human_members(source.line), _human_members(export.line)
    added = {member.key for member in after} - {member.key for member in before}
    if _bare(source.line, before, set()) != _bare(export.line, after, added):
        result.found(
            f"line {export.number} of the export differs from line {source.number} of the original"
            " in more than human_* values"
        )
        return []
    keys = [
        key for key in HUMAN_FIELDS if _values(source.line, before, key) != _values(export.line, after, key)
    ]
    result.changed += 1
    result.keys.update(keys)
    return keys


def _human_members(line: bytes) -> list[Member]:
    return [member for member in members(line) if member.key in HUMAN_FIELDS]


def _values(line: bytes, found: list[Member], key: str) -> list[bytes]:
    return [line[member.start : member.end] for member in found if member.key == key]


def _bare(line: bytes, human: list[Member], added: set[str]) -> bytes:
    """The line without the human values, and without the added keys and the comma before each."""
    parts, position = [], 0
    for member in human:
        comma = line.rfind(b",", position, member.key_start)
        end = comma if member.key in added and comma >= 0 else member.start
        parts.append(line[position:end])
        position = member.end
    return b"".join([*parts, line[position:]])
