"""Keep the web server, the job worker and the embedded PostgreSQL of `manage.py up` running, and stop them.

`up.py` prepares everything and replaces itself by this module, which imports the program once for all
children.
"""

import fcntl
import http.client
import json
import math
import os
import shutil
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from cognireview.postgres import embedded
from cognireview.processes import child_process
from cognireview.processes.child_process import GRACE_SECONDS, HOST
from cognireview.processes.idle_memory import release_libraries

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


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READY_TIMEOUT_SECONDS = 60
_POLL_SECONDS = 0.5
_MAX_LOG_BYTES = 32 * 1024**2
Report = Callable[[str], None]


@dataclass(frozen=True)
class Site:
    """The facts that the supervisor gets from `up`."""

    port: int
    #: The address of the site, and the variable that gives it to the children.
    url: str
    url_variable: str
    base_dir: str
    data_dir: str
    has_database: bool
    is_installed: bool
    #: The descriptor of the locked file that keeps other `up` processes away.
    lock: int
    #: Printed once the site answers.
    lines: list[str]

    @property
    def logs(self) -> Path:
        return Path(self.data_dir) / "logs"


def main() -> None:
    """Run until a signal ends the process with status 0."""
    with os.fdopen(int(sys.argv[1])) as given:
        site = Site(**json.loads(given.readline()))
    exit_gracefully_on_signals()
    os.environ[site.url_variable] = site.url
    try:
        with os.fdopen(site.lock, "a") as lock:
            try:
                os.set_inheritable(site.lock, False)  # noqa: FBT003 its only argument
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                child_process.preload()
                _supervise(site)
            finally:
                lock.truncate(0)
    except embedded.CannotStart as error:
        _report(str(error))
        sys.exit(2)


def _supervise(site: Site) -> None:
    data_dir = Path(site.data_dir)
    with (
        embedded.running(data_dir) if site.has_database else nullcontext() as postgres,
        _children(site) as children,
    ):
        database = [_Database(postgres)] if postgres else []
        programs: list[SupervisedProgram] = [*database, *children]
        _wait_until_ready(programs, site.port)
        for line in site.lines:
            _say(line)
        # It has imported the program for its children.
        release_libraries()
        while True:
            time.sleep(_POLL_SECONDS)
            for program in programs:
                program.check()
            for log in site.logs.glob("*.log"):
                rotate_log(log)


def exit_gracefully_on_signals() -> None:
    for number in SIGNALS:
        # nohup ignores SIGHUP on purpose.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _exit_gracefully)


def _say(line: str) -> None:
    with suppress(OSError):  # the site keeps running after its reader has gone
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _report(line: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"cognireview: {line}\n")
        sys.stderr.flush()


def running_site(data_dir: Path) -> str:
    """Return the address of the site that an `up` on this data folder serves; empty if none is running."""
    path = data_dir / "locks" / "up"
    if not path.exists():
        return ""
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return (lock.read().split() or ["starting"])[0]
    return ""


def _exit_gracefully(_number: int, _frame: FrameType | None) -> None:
    """Exit through every `finally`. A second Ctrl+C must not interrupt that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def rotate_log(log: Path) -> None:
    """Copy a full log to `LOG.1` and empty it.

    The file is truncated in place, because its process keeps it open.
    """
    with suppress(OSError):  # a full disk must not stop the site
        if log.stat().st_size > _MAX_LOG_BYTES:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


class _Child(SupervisedProgram):
    """The web server or the worker."""

    def __init__(self, site: Site, name: str, module_name: str, *arguments: int) -> None:
        super().__init__(name, site.logs / f"{module_name}.log", _report)
        self._module_name = module_name
        self._arguments = arguments
        self.process: BaseProcess | None = None

    def start(self) -> None:
        try:
            self.process = child_process.start(self._module_name, self.log, *self._arguments)
        except OSError as error:
            raise ProgramError(f"it cannot be started ({error.strerror})") from error

    def is_running(self) -> bool:
        return self.process is not None and self.process.is_alive()

    def exit_reason(self) -> str:
        status = (self.process.exitcode if self.process else 0) or 0
        return _signal_description(-status) if status < 0 else f"it ended with status {status}"

    def ended_as_planned(self) -> bool:
        return self.process is not None and self.process.exitcode == 0

    def terminate(self) -> None:
        if self.process:
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process and its children."""
        if self.process and self.process.pid and self.is_running():
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.join()


class _Database(SupervisedProgram):
    """The embedded PostgreSQL."""

    def __init__(self, server: embedded.Server) -> None:
        super().__init__("database", server.log, _report)
        self._server = server

    def start(self) -> None:
        with _program_errors():
            self._server.restart_if_dead()

    def is_running(self) -> bool:
        with _program_errors():
            return self._server.is_alive()

    def exit_reason(self) -> str:
        return "PostgreSQL stopped"


@contextmanager
def _program_errors() -> Iterator[None]:
    """Convert errors that keep the database from starting to `ProgramError`."""
    try:
        yield
    except embedded.CannotStart as error:
        raise ProgramError(str(error).rstrip(".")) from error
    except OSError as error:
        raise ProgramError(f"{error.filename or 'the data folder'}: {error.strerror}") from error


def _signal_description(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
    return f"it was ended by signal {number} ({name})"


@contextmanager
def _children(site: Site) -> Iterator[list[_Child]]:
    children = [_Child(site, "web server", "web", site.port), _Child(site, "worker", "worker")]
    try:
        for child in children:
            child.try_start()
        yield children
    finally:
        for child in children:
            child.terminate()
        end = time.monotonic() + GRACE_SECONDS + 5
        while time.monotonic() < end and any(child.is_running() for child in children):
            time.sleep(0.02)
        for child in children:
            child.kill()


def _wait_until_ready(programs: Sequence[SupervisedProgram], port: int) -> None:
    slow = time.monotonic() + _READY_TIMEOUT_SECONDS
    while not _is_ready(port):
        for program in programs:
            program.check()
        if time.monotonic() > slow:
            slow = math.inf
            logs = " and ".join(str(program.log) for program in programs)
            _report(f"The site does not answer yet. See {logs}.")
        time.sleep(0.05)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main()
