"""Does an export hold nothing but its original and human decisions? Two files, no database."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reviews.record import HUMAN_FIELDS, LineError, parse_line
from reviews.splice import Member, members

SHOWN_PROBLEMS = 20


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


def compare(original: Iterable[bytes], exported: Iterable[bytes]) -> Comparison:
    """Compare two files, each given as its lines with their line ends (as a binary file iterates)."""
    result = Comparison()
    ids: set[str] = set()
    export = _Lines(exported)
    for number, line in enumerate(original, start=1):
        if line == export.line:
            result.identical += 1
            ids.add(_id_of(line))
            export.advance()
            continue
        evaluation_id = _id_of(line)
        if not evaluation_id or evaluation_id in ids:
            result.left_out += bool(line.strip())
            if not line.strip():
                result.found(f"line {number} of the original is blank and missing in the export")
            continue
        ids.add(evaluation_id)
        if _id_of(export.line) == evaluation_id:
            _compare_records(number, line, export, result)
            export.advance()
        else:
            result.found(f"line {number} of the original ({evaluation_id}) is not in its place in the export")
    while export.line:
        result.found(f"line {export.number} of the export is not in the original")
        export.advance()
    return result


class _Lines:
    """A file that is read one line ahead; the line is empty behind its end."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: Iterator[bytes] = iter(lines)
        self.number = 0
        self.line = b""
        self.advance()

    def advance(self) -> None:
        self.line = next(self._lines, b"")
        self.number += 1


def _id_of(line: bytes) -> str:
    """The evaluation_id of a line that is a record, else an empty string."""
    try:
        return parse_line(line.removeprefix(b"\xef\xbb\xbf")).evaluation_id
    except LineError:
        return ""


def _compare_records(number: int, line: bytes, export: _Lines, result: Comparison) -> None:
    before, after = _human_members(line), _human_members(export.line)
    added = [member for key, member in after.items() if key not in before]
    removed = [key for key in before if key not in after]
    if removed or _without(line, list(before.values()), []) != _without(
        export.line, [member for key, member in after.items() if key in before], added
    ):
        result.found(
            f"line {export.number} of the export differs from line {number} in more than human_* values"
        )
        return
    result.changed += 1
    for key, member in after.items():
        old = before.get(key)
        if old is None or line[old.start : old.end] != export.line[member.start : member.end]:
            result.keys[key] += 1


def _human_members(line: bytes) -> dict[str, Member]:
    found = members(line.removeprefix(b"\xef\xbb\xbf"))
    shift = len(line) - len(line.removeprefix(b"\xef\xbb\xbf"))
    return {
        member.key: Member(member.key, *(place + shift for place in member[1:]))
        for member in found
        if member.key in HUMAN_FIELDS
    }


def _without(line: bytes, emptied: list[Member], dropped: list[Member]) -> bytes:
    """The line without the values of some members, and without others and the comma before them."""
    parts, position = [], 0
    for member in sorted([*emptied, *dropped], key=lambda member: member.start):
        if member in dropped:
            comma = line.rindex(b",", position, member.key_start)
            parts.append(line[position:comma])
        else:
            parts.append(line[position : member.start])
        position = member.end
    return b"".join([*parts, line[position:]])
