"""Run commands as an operator does, and return exit status and output."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, NamedTuple

import pytest
from django.core.management import CommandError, call_command

from cognireview.environment import BASE_DIR


class Finished(NamedTuple):
    """The result of a command. `err` holds the message of a failed command, as `manage.py` prints it."""

    status: int
    out: bytes
    err: str


def manage(capture: pytest.CaptureFixture[bytes], *arguments: str) -> Finished:
    """Run `manage.py` with these arguments in this process."""
    status, said = 0, ""
    try:
        call_command(*arguments)
    except CommandError as error:
        status, said = error.returncode, str(error)
    except SystemExit as end:
        status = int(end.code or 0)
    captured = capture.readouterr()
    return Finished(status, captured.out, captured.err.decode() + said)


def manage_py(data_dir: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` as a process, on a folder's embedded PostgreSQL unless `variables` name another."""
    return manage_py_into(subprocess.PIPE, data_dir, *arguments, **variables)


def manage_py_into(
    stdout: IO[bytes] | int, data_dir: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` as `manage_py` does, with its standard output in a file."""
    without = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env={**without, "COGNIREVIEW_DATA_DIR": str(data_dir), **variables},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
