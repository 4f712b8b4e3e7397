"""Check that imports are complete and that every line of every file has exactly one correct outcome."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import orjson
from django.db import transaction

from reviews.database.statements import execute, fetch_all, fetch_value
from reviews.models import Evaluation, FileConflict, Import, Run
from reviews.records.schema import HUMAN_FIELDS
from reviews.storage import source_files
from reviews.storage.copy_encoding import content_hash

NEW, UNCHANGED, UPDATED, CONFLICT, REJECTED = OUTCOMES = (
    "new",
    "unchanged",
    "updated",
    "conflict",
    "rejected",
)
SHOWN_PROBLEMS = 5
# Partly visible imports: finished without some of their records, or unfinished with visible records.
_HALF_IMPORTS = """
    SELECT import.id, state, new, records.count FROM import
    CROSS JOIN LATERAL (SELECT count(*) FROM evaluation WHERE first_import_id = import.id) records
    WHERE CASE state
        WHEN 'done' THEN records.count <> new
        ELSE records.count > 0
            OR EXISTS (SELECT FROM evaluation WHERE source_import_id = import.id)
            OR EXISTS (SELECT FROM import_line WHERE source_id = import.id)
            OR EXISTS (SELECT FROM file_conflict WHERE source_id = import.id)
    END
"""
# The counts of all imports and the lines behind them, in one statement and therefore one snapshot.
_LISTED = """
    SELECT import.id, file_name, state, error, sha256, import.lines, blank,
           ARRAY[import.new, import.unchanged, import.updated, import.conflicts, import.rejected],
           created.lines, listed.unchanged, listed.updated, listed.conflict, listed.rejected
    FROM import
    CROSS JOIN LATERAL (
        SELECT array_agg(first_line) AS lines FROM evaluation WHERE first_import_id = import.id
    ) created
    CROSS JOIN LATERAL (
        SELECT array_agg(line) FILTER (WHERE outcome = 'unchanged') AS unchanged,
               array_agg(line) FILTER (WHERE outcome = 'updated') AS updated,
               array_agg(line) FILTER (WHERE outcome = 'conflict') AS conflict,
               array_agg(line) FILTER (WHERE outcome = 'rejected') AS rejected
        FROM (
            SELECT outcome, generate_series(line, line + lines - 1) AS line
            FROM import_line WHERE source_id = import.id
        ) each
    ) listed
    ORDER BY import.id
"""
_COUNT = "SELECT coalesce(sum(lines), 0) FROM import_line WHERE source_id = %s AND outcome = %s"
_WAYS_TO_COUNT = {
    "heap": ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"),
    "index": ("enable_seqscan",),
}


@contextmanager
def snapshot() -> Iterator[None]:
    """Run the statements of the block in one snapshot of the database."""
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


class Listed(NamedTuple):
    """An import with its counts, and the line numbers behind them, by outcome."""

    pk: int
    file_name: str
    state: str
    error: str
    sha256: str
    lines: int
    blank: int
    counted: dict[str, int]
    numbers: dict[str, list[int]]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.file_name}"


def half_imports() -> Iterator[str]:
    """Report partly visible imports."""
    for pk, state, new, records in fetch_all(_HALF_IMPORTS):
        yield f"half of import {pk} can be seen: it is {state}, {new} records are new, and {records} show"


def check_imports(files: Iterable[Path]) -> Iterator[str]:
    """Compare the imports with the uploaded files."""
    by_name = {file.name: file for file in files}
    digests = {name: _sha256(file) for name, file in by_name.items()}
    listed = {one.pk: one for one in _listed()}
    for one in listed.values():
        if one.state == Import.State.DONE:
            yield from _sums(one)
            if not _kept(one) == one.sha256 == digests[one.file_name]:
                yield f"{one} keeps other bytes than were brought"
        else:
            yield f"{one} is {one.state}: {one.error}"
    yield from half_imports()
    replay = _Replay()
    for run in Run.objects.all():
        for kept in run.files:
            yield from replay.take(listed[kept.pk], by_name[kept.file_name])
    yield from replay.end()


def _listed() -> Iterator[Listed]:
    for pk, file_name, state, error, sha256, lines, blank, counted, *listed in fetch_all(_LISTED):
        numbers = [sorted(some or []) for some in listed]
        by_outcome = (dict(zip(OUTCOMES, some, strict=True)) for some in (counted, numbers))
        yield Listed(pk, file_name, state, error, sha256, lines, blank, *by_outcome)


def _sums(one: Listed) -> Iterator[str]:
    """Report counts of an import that differ from its lists of lines."""
    if sum(one.counted.values()) + one.blank != one.lines:
        yield f"{one} has {one.lines} lines and accounts for {one.counted} and {one.blank} blank ones"
    for outcome, numbers in one.numbers.items():
        if one.counted[outcome] != len(numbers):
            counts = "" if outcome == NEW else f" ({_counted_each_way(one.pk, outcome)})"
            said = f"{one.counted[outcome]} lines that are {outcome}, and lists {len(numbers)}"
            yield f"{one} has {said}{counts}"


def _counted_each_way(pk: int, outcome: str) -> str:
    """Count the rows of an outcome by a table scan and by the index, which detects a damaged index."""
    counts = []
    with transaction.atomic():
        for way, disabled in _WAYS_TO_COUNT.items():
            for setting in disabled:
                execute(f"SET LOCAL {setting} = off")
            counts.append(f"by {way}: {fetch_value(_COUNT, [pk, outcome])}")
            for setting in disabled:
                execute(f"SET LOCAL {setting} = on")
    return ", ".join(counts)


def _kept(one: Listed) -> str:
    chunks = source_files.stored_chunks(Import.objects.get(pk=one.pk))
    return hashlib.sha256(b"".join(chunk.data for chunk in chunks)).hexdigest()


@dataclass
class _Current:
    """The expected state of a record after the files read so far."""

    import_id: int
    line: int
    hash: bytes
    evidence: bytes
    # The hash of the line with the disputed decision, and the number of disputed lines.
    disputed: bytes = b""
    conflicts: int = 0


@dataclass
class _Replay:
    """Replay the files in the order of their imports, without the program's own code."""

    records: dict[str, _Current] = field(default_factory=dict)

    def take(self, one: Listed, file: Path) -> Iterator[str]:
        """Read the file of an import. Yields lines without exactly one outcome and wrong outcomes."""
        outcomes: dict[int, list[str]] = {}
        for outcome, numbers in one.numbers.items():
            for number in numbers:
                outcomes.setdefault(number, []).append(outcome)
        wrong: dict[str, list[int]] = {}
        seen: set[str] = set()
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                found = outcomes.pop(number, [])
                expected = self._expected(line.removesuffix(b"\n"), seen, one.pk, number, found)
                if found not in expected:
                    what = f"should be {' or '.join(map(_spelled, expected))} and are {_spelled(found)}"
                    wrong.setdefault(what, []).append(number)
        for what, numbers in wrong.items():
            yield f"{one}: {len(numbers)} lines {what}: {_ranges(numbers)}"
        if outcomes:
            yield f"{one}: lines beyond the end of the file are listed: {_ranges(sorted(outcomes))}"

    def _expected(
        self, line: bytes, seen: set[str], pk: int, number: int, found: list[str]
    ) -> list[list[str]]:
        """Return the outcomes that a line may have, and note the state of its record after the actual one."""
        if not line.strip():
            return [[]]
        try:
            record = orjson.loads(line)
            name = record["evaluation_id"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            return [[REJECTED]]
        if name in seen:
            return [[REJECTED]]
        seen.add(name)
        evidence, line_hash = _evidence(record), content_hash(line, is_member=False)
        current = self.records.get(name)
        if current is None:
            self.records[name] = _Current(pk, number, line_hash, evidence)
            return [[NEW]]
        if line_hash == current.hash:
            return [[UNCHANGED]]
        is_new_evidence = evidence != current.evidence
        if found == [CONFLICT] and current.disputed != line_hash:
            current.disputed, current.conflicts = line_hash, current.conflicts + 1
        if found == [UPDATED] or (found == [CONFLICT] and is_new_evidence):
            current.import_id, current.line, current.hash, current.evidence = pk, number, line_hash, evidence
        return [[UPDATED], [CONFLICT]] if is_new_evidence else [[UPDATED], [CONFLICT], [UNCHANGED]]

    def end(self) -> Iterator[str]:
        """Report records and conflicts that differ from the files."""
        wrong = []
        conflicts = Counter(FileConflict.objects.values_list("evaluation__evaluation_id", flat=True))
        is_open = FileConflict.objects.filter(outcome=FileConflict.Outcome.OPEN)
        disputed: dict[str, list[bytes]] = {}
        for name, line_hash in is_open.values_list("evaluation__evaluation_id", "content_hash"):
            disputed.setdefault(name, []).append(bytes(line_hash))
        places = Evaluation.objects.values_list(
            "evaluation_id", "source_import_id", "source_line", "content_hash"
        )
        left = dict(self.records)
        for name, import_id, line, line_hash in places.iterator():
            one = left.pop(name, None)
            if one is None or (one.import_id, one.line, one.hash) != (import_id, line, bytes(line_hash)):
                wrong.append(f"{name} should stand on {one}, and stands on line {line} of import {import_id}")
            elif disputed.get(name, []) != [one.disputed] * bool(one.disputed):
                wrong.append(f"{name} has {len(disputed.get(name, []))} open conflicts instead of {one}")
            elif conflicts[name] != one.conflicts:
                wrong.append(f"{name} has {conflicts[name]} conflicts, and {one.conflicts} lines dispute it")
        wrong += [f"{name} is in a file, and no record" for name in left]
        yield from wrong[:SHOWN_PROBLEMS]
        if len(wrong) > SHOWN_PROBLEMS:
            yield f"... and {len(wrong) - SHOWN_PROBLEMS:,} records more are not as the files leave them"


def _evidence(record: dict[str, object]) -> bytes:
    """A hash of all values of a record that are not human decisions."""
    values = {name: value for name, value in record.items() if name not in HUMAN_FIELDS}
    return hashlib.blake2b(orjson.dumps(values, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _spelled(outcomes: list[str]) -> str:
    return " and ".join(outcomes) or "not listed"


def _ranges(numbers: list[int]) -> str:
    """Format sorted numbers as ranges: 3-7, 9."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(shown[:50]) + (", ..." if len(shown) > 50 else "")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
