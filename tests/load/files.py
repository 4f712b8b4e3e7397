"""Create the uploaded files with an external generator if available, else with the benchmarks' own."""

import json
import random
import subprocess
import sys
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from cognireview.environment import BASE_DIR
from tests.benchmarks import dataset

_GENERATOR = BASE_DIR.parent / "shared" / "bench" / "make_dataset.py"
SPOILED = 0.02
CHANGED, DISPUTED = 0.05, 0.8


def write(path: Path, count: int, *, seed: int) -> Path:
    """Write `count` records. The same count and seed always give the same bytes."""
    if not _GENERATOR.exists():
        return dataset.write(path, count, seed=seed)
    subprocess.run([sys.executable, _GENERATOR, str(count), path, "--seed", str(seed)], check=True)
    return path


def cut(whole: Path, sizes: Iterable[int]) -> list[Path]:
    """Split a file into consecutive files with these numbers of lines."""
    parts = []
    with whole.open("rb") as lines:
        for number, size in enumerate(sizes):
            part = whole.with_name(f"{whole.stem}-{number}.jsonl")
            with part.open("wb") as file:
                file.writelines(islice(lines, size))
            parts.append(part)
    return parts


def spoil(before: Path, path: Path, chance: random.Random) -> Path:
    """Copy a file and insert lines that are blank or invalid records."""
    with before.open("rb") as lines, path.open("wb") as file:
        for line in lines:
            if chance.random() < SPOILED:
                file.write(chance.choice((b"\n", b"no record\n", b'{"evaluation_id": "cut\n')))
            file.write(line)
    return path


def revise(
    before: Path, path: Path, *, lines_taken: int | None, decided: Collection[str], chance: random.Random
) -> Path:
    """Copy the first or all lines of a file, with new evidence, and other decisions on decided records."""
    with before.open("rb") as lines, path.open("wb") as file:
        for line in islice(lines, lines_taken):
            changes = _changes(chance)
            file.write(_revised(line, changes, decided) if changes else line)
    return path


def _changes(chance: random.Random) -> dict[str, Any]:
    """Return new values for a record, mostly none."""
    number = chance.getrandbits(32)
    changes: dict[str, Any] = {}
    if chance.random() < CHANGED:
        changes["verification_message"] = f"Verified again: {number}"
    if chance.random() < DISPUTED:
        changes |= {
            "human_review_status": "Completed",
            "human_reviewer_id": "pipeline",
            "human_review_timestamp": "2026-01-01T00:00:00Z",
            "human_review_comments": f"Decided elsewhere: {number}",
        }
    return changes


def _revised(line: bytes, changes: dict[str, Any], decided: Collection[str]) -> bytes:
    """Return the line with new values; only decided records get another decision. Other lines stay."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if record["evaluation_id"] not in decided:
        changes = {name: value for name, value in changes.items() if not name.startswith("human_")}
    return json.dumps(record | changes).encode() + b"\n" if changes else line
