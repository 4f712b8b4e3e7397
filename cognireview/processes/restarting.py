"""Keep a program running: start it again when it ends, after longer and longer pauses, and say so once."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

# A program that ran this long had started well: its next end counts as the first again.
_SECONDS_OF_A_GOOD_START = 10
_LONGEST_PAUSE = 60
_BYTES_OF_A_LAST_LINE = 4096
_LONGEST_LAST_LINE = 300


class Fault(Exception):
    """A program cannot be looked at or started; the message is a sentence without its full stop."""


class Kept(ABC):
    """A program that is to run until `up` ends.

    The first restart is immediate, the next ones wait 1, 2, 4 and at most 60 seconds. `report` gets a line
    when the program starts to fail, when it fails in another way, and when it runs again.
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
        """Return whether the program runs. Raises `Fault`."""

    @abstractmethod
    def start(self) -> None:
        """Start the program. Raises `Fault`."""

    @abstractmethod
    def how_it_ended(self) -> str:
        """Say how the program ended, without a full stop."""

    def begin(self) -> None:
        """Start the program."""
        self._due = None
        try:
            self.start()
        except Fault as fault:
            self._note_a_failure(str(fault), seconds_run=0)
        else:
            self._begun = time.monotonic()

    def tend(self) -> None:
        """Look at the program, and start it again if it ended and its pause is over."""
        try:
            runs = self.is_running()
        except Fault as fault:
            self._note_a_failure(str(fault), seconds_run=0)
            return
        now = time.monotonic()
        if runs:
            self._note_that_it_runs(now - self._begun)
        elif self._due is None:
            self._note_a_failure(self.how_it_ended(), seconds_run=now - self._begun)
        elif now >= self._due:
            self.begin()

    def _note_that_it_runs(self, seconds_run: float) -> None:
        if self._reason and seconds_run > _SECONDS_OF_A_GOOD_START:
            self._reason = ""
            self._report(f"The {self.name} runs again.")

    def _note_a_failure(self, reason: str, *, seconds_run: float) -> None:
        self._failures = 1 if seconds_run > _SECONDS_OF_A_GOOD_START else self._failures + 1
        self._due = time.monotonic() + _pause(self._failures)
        if reason == self._reason:
            return
        self._reason = reason
        last = last_line(self.log)
        quoted = f' The last line of its log: "{last}".' if last and last not in reason else ""
        self._report(
            f"The {self.name} fails: {reason}.{quoted} See {self.log}. It is started again, at the latest "
            f"after {_LONGEST_PAUSE} seconds."
        )


def _pause(failures: int) -> int:
    """Return the seconds to wait after so many failures in a row: 0, 1, 2, 4 and so on."""
    return 0 if failures == 1 else min(2 ** min(failures - 2, 30), _LONGEST_PAUSE)


def last_line(log: Path) -> str:
    """Return the last line of a log, or nothing where it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _BYTES_OF_A_LAST_LINE))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].strip()[:_LONGEST_LAST_LINE] if lines else ""
