"""Run processes of the program or of other software for the length of a block."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cognireview.environment import BASE_DIR
from tests.support.waiting import PATIENCE

_OUR_SETTINGS = ("COGNIREVIEW_", "DATABASE_", "GRANIAN_", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True)
class Process:
    """A running process in its own session."""

    #: The handle with exit status and pid.
    popen: "subprocess.Popen[bytes]"
    #: The file with the output.
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until(self, is_ready: Callable[[], object], *, seconds: float = PATIENCE) -> None:
        """Wait for a condition. Raises `AssertionError` if the process ends or the time runs out."""
        end = time.monotonic() + seconds
        while not is_ready():
            assert self.is_running, self.output()
            assert time.monotonic() < end, self.output()
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its children."""
        os.killpg(self.pid, number)

    def stop(self, *, seconds: float = PATIENCE) -> int:
        """Send SIGTERM and return the exit status. Raises `TimeoutExpired`."""
        self.popen.terminate()
        return self.popen.wait(seconds)

    def end(self) -> None:
        """Stop the process if it still runs, and kill its remaining children."""
        with suppress(subprocess.TimeoutExpired):
            self.stop()
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.popen.wait()


@contextmanager
def running(command: Sequence[str | Path], log: Path, **options: Any) -> Iterator[Process]:
    """Run a command with `options` of `subprocess.Popen` and write its output to the log."""
    with log.open("wb") as output:
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **options,
        )
    process = Process(popen, log)
    try:
        yield process
    finally:
        process.end()


@contextmanager
def running_manage_py(arguments: Sequence[str], log: Path, environment: dict[str, str]) -> Iterator[Process]:
    """Run `manage.py` with these arguments, from the checkout."""
    command = [sys.executable, "manage.py", *arguments]
    with running(command, log, cwd=BASE_DIR, env=environment) as process:
        yield process


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with the program's settings replaced by these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUR_SETTINGS)}
    return kept | {"PYTHONUNBUFFERED": "1"} | variables
