"""Tests that only the gate runs, exhaustive ones and those with the public sample, and their files."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

MARKS = ("exhaustive", "public_sample")
# The selections of pytest that need only those files.
SELECTIONS = {*MARKS, " or ".join(MARKS)}
# A file names the mark, a function that sets it or, for the public sample, the fixture with its type.
_NAMED = re.compile(r"\b(?:exhaustive|thirds|public_sample|sample: bytes)\b")


def thirds(values: Iterable[str]) -> list[ParameterSet]:
    """Return test cases of which each third always runs, and the others only if they are `exhaustive`."""
    return [
        pytest.param(value, marks=[pytest.mark.exhaustive] if n % 3 else []) for n, value in enumerate(values)
    ]


@cache
def may_contain(path: Path) -> bool:
    """Return whether a test file may contain tests with one of `MARKS`."""
    return bool(_NAMED.search(path.read_text()))


def check_found(items: Iterable[pytest.Item]) -> None:
    """Raise `pytest.UsageError` if such a test is in a file that `may_contain` leaves out."""
    for item in items:
        if any(item.get_closest_marker(mark) for mark in MARKS) and not may_contain(item.path):
            raise pytest.UsageError(f"{item.nodeid} is marked, but its file does not name the mark.")
