"""Collect the problems that a test of load finds, and print them."""

import shutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

SHOWN = 20


def found(problems: Iterator[str]) -> list[str]:
    """Return all problems. An error of the check itself is one of them."""
    found: list[str] = []
    try:
        found.extend(problems)
    except Exception as error:  # noqa: BLE001 show the figures and problems so far after any error
        found.append("".join(traceback.format_exception(error)))
    return found


def report(problems: list[str], folder: Path, *, keep: bool) -> list[str]:
    """Print the problems and return them. Without problems, remove the folder, unless `keep` is set."""
    for problem in problems[:SHOWN]:
        print(problem, file=sys.stderr)  # noqa: T201
    if problems:
        (folder / "problems.txt").write_text("\n".join(problems) + "\n")
        print(f"The database, the logs, the files and problems.txt are kept in {folder}", file=sys.stderr)  # noqa: T201
    elif not keep:
        shutil.rmtree(folder)
    print(f"Does not hold: {len(problems):,}" if problems else "Everything holds.")  # noqa: T201
    return problems
