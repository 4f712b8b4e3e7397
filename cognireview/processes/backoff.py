"""Restart a program that ended, with exponential backoff, and report each failure once."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

# After a program has run this long, its failures are counted from 0 again.
_STABLE_SECONDS = 10
_MAX_DELAY_SECONDS = 60
_TAIL_BYTES = 4096
_MAX_LINE_LENGTH = 300


class ProgramError(Exception):
    """A program cannot be checked or started. The message is a sentence without its full stop."""


class SupervisedProgram(ABC):
    """A program that `up` keeps running.

    The first restart is immediate. The next ones wait 1, 2, 4 and at most 60 seconds. `report` gets a line
    when the program first fails, when the reason changes, and when the program runs again.
    """

    def __init__(self, name: str, log: Path, report: Callable[[str], None]) -> None:
        self.name = name
        self.log = log
        self._report = report
        self._failures = 0
        self._due: float | None = None
        self._begun = 0.0
        self._reason = ""

    @abstractmethod
    def is_running(self) -> bool:
        """Return whether the program runs. Raises `ProgramError`."""

    @abstractmethod
    def start(self) -> None:
        """Start the program. Raises `ProgramError`."""

    @abstractmethod
    def exit_reason(self) -> str:
        """Return why the program ended, without a full stop."""

    def ended_as_planned(self) -> bool:
        """Return whether the program ended in order to be restarted. That is no failure."""
        return False

    def try_start(self) -> None:
        """Start the program, or record the failure."""
        self._due = None
        try:
            self.start()
        except ProgramError as fault:
            self._record_failure(str(fault), seconds_run=0)
        else:
            self._begun = time.monotonic()

    def check(self) -> None:
        """Check the program, and restart it if it ended and its delay is over."""
        try:
            runs = self.is_running()
        except ProgramError as fault:
            self._record_failure(str(fault), seconds_run=0)
            return
        now = time.monotonic()
        if runs:
            self._record_running(now - self._begun)
        elif self._due is None and now - self._begun > _STABLE_SECONDS and self.ended_as_planned():
            self.try_start()
        elif self._due is None:
            self._record_failure(self.exit_reason(), seconds_run=now - self._begun)
        elif now >= self._due:
            self.try_start()

    def _record_running(self, seconds_run: float) -> None:
        if self._reason and seconds_run > _STABLE_SECONDS:
            self._reason = ""
            self._report(f"The {self.name} runs again.")

    def _record_failure(self, reason: str, *, seconds_run: float) -> None:
        self._failures = 1 if seconds_run > _STABLE_SECONDS else self._failures + 1
        self._due = time.monotonic() + _delay(self._failures)
        if reason == self._reason:
            return
        self._reason = reason
        last = last_line(self.log)
        quoted = f' The last line of its log: "{last}".' if last and last not in reason else ""
        self._report(
            f"The {self.name} fails: {reason}.{quoted} See {self.log}. It is restarted within "
            f"{_MAX_DELAY_SECONDS} seconds."
        )


def _delay(failures: int) -> int:
    """Return the delay in seconds after this number of failures in a row: 0, 1, 2, 4 and so on."""
    return 0 if failures == 1 else min(2 ** min(failures - 2, 30), _MAX_DELAY_SECONDS)


def last_line(log: Path) -> str:
    """Return the last line of a log, or an empty text if the log cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].strip()[:_MAX_LINE_LENGTH] if lines else ""
