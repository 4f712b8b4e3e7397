"""The files that are brought: by the generator beside the checkout where there is one, else by our own."""

import random
import subprocess
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from cognireview.environment import BASE_DIR
from tests.benchmarks import dataset

_GENERATOR = BASE_DIR.parent / "shared" / "bench" / "make_dataset.py"
SPOILED = 0.02


def write(path: Path, count: int, *, seed: int) -> Path:
    """Write so many records. The same count and seed always give the same bytes."""
    if not _GENERATOR.exists():
        return dataset.write(path, count, seed=seed)
    subprocess.run([sys.executable, _GENERATOR, str(count), path, "--seed", str(seed)], check=True)
    return path


def cut(whole: Path, sizes: Iterable[int]) -> list[Path]:
    """The lines of a file as files of so many lines, one after the other."""
    parts = []
    with whole.open("rb") as lines:
        for number, size in enumerate(sizes):
            part = whole.with_name(f"{whole.stem}-{number}.jsonl")
            with part.open("wb") as file:
                file.writelines(islice(lines, size))
            parts.append(part)
    return parts


def spoil(before: Path, path: Path, chance: random.Random) -> Path:
    """The same records in another file, with lines among them that are blank or no records."""
    with before.open("rb") as lines, path.open("wb") as file:
        for line in lines:
            if chance.random() < SPOILED:
                file.write(chance.choice((b"\n", b"no record\n", b'{"evaluation_id": "cut\n')))
            file.write(line)
    return path
