"""Run commands as an operator does, and return exit status and output."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import pytest
from django.core.management import CommandError, call_command

from cognireview.environment import BASE_DIR

Capture = pytest.CaptureFixture[bytes]
Completed = subprocess.CompletedProcess[str]


class Finished(NamedTuple):
    """The result of a command. `err` holds the message of a failed command, as `manage.py` prints it."""

    status: int
    out: bytes
    err: str


def manage(capture: Capture, *arguments: str) -> Finished:
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


def manage_py(data_dir: Path, *arguments: str, **variables: str) -> Completed:
    """Run `manage.py` as a process, on a folder's embedded PostgreSQL unless `variables` name another."""
    return manage_py_into(subprocess.PIPE, data_dir, *arguments, **variables)


def manage_py_into(stdout: IO[bytes] | int, data_dir: Path, *arguments: str, **variables: str) -> Completed:
    """Run `manage.py` as `manage_py` does, with its standard output in a file."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env=_environment(data_dir, variables),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@contextmanager
def many_commands(data_dir: Path, **variables: str) -> Iterator[Callable[..., Completed]]:
    """Run commands as `manage_py` does, but in one process, which starts once."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.command_runner"],
        cwd=BASE_DIR,
        env=_environment(data_dir, variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def run(*arguments: str) -> Completed:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(arguments) + "\n")
            process.stdin.flush()
            status, out, err = json.loads(process.stdout.readline())
            return Completed(arguments, status, out, err)

        yield run


def _environment(data_dir: Path, variables: dict[str, str]) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**without, "COGNIREVIEW_DATA_DIR": str(data_dir), **variables}
