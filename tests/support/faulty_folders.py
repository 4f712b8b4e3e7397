"""Data folders with a fault."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.support.commands import manage_py


def exhaustive(*values: str) -> ParameterSet:
    """Another command or file with the same fault, for the exhaustive tests."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def refused(data_dir: Path, command: str = "verify_audit") -> str:
    """Run a command that fails, and return its last sentence."""
    done = manage_py(data_dir, command)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    *warnings, sentence = done.stderr.splitlines()
    expected = ("traversable for others", "cognireview: Loading", "cognireview: Starting")
    assert all(any(text in line for text in expected) for line in warnings), done.stderr
    return sentence
