"""Run `manage.py up`: prepare everything, keep the web server and the job worker running, stop them."""

import errno
import fcntl
import http.client
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from django.conf import settings

from cognireview import environment
from cognireview.postgres import embedded
from cognireview.postgres.migrations import migrate
from cognireview.processes.backoff import ProgramError, SupervisedProgram
from cognireview.processes.child_process import GRACE_SECONDS, HOST
from cognireview.web import static_files

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PORT_TIMEOUT_SECONDS = GRACE_SECONDS + 5
_READY_TIMEOUT_SECONDS = 60
_POLL_SECONDS = 0.5
_MAX_LOG_BYTES = 32 * 1024**2
Report = Callable[[str], None]


class CannotRun(Exception):
    """`up` cannot start. The message says why in one line, and `status` is the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def up(*, port: int, greeting: Callable[[str], list[str]], say: Report, report: Report) -> None:
    """Run until a signal raises `SystemExit(0)`. Raises `CannotRun`.

    `greeting` is called with the site's URL after the migrations, and its lines are passed to `say` once the
    site answers. `report` gets a line for each step of the start and for each failure.
    """
    for number in _SIGNALS:
        # nohup ignores SIGHUP on purpose.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _exit_gracefully)
    url = _public_url(port)
    with _exclusive_lock(settings.DATA_DIR, url) as after_a_crash:
        _check_port(port, patient=after_a_crash)
        _check_front_end()
        with ThreadPoolExecutor() as aside, _postgres(report) as postgres:
            collected = aside.submit(static_files.collect, report)
            migrate(report)
            lines = greeting(url)
            collected.result()
            report("Starting the web server and the worker...")
            with _children(port, url, report) as children:
                database = [_Database(postgres, report)] if postgres else []
                programs: list[SupervisedProgram] = [*database, *children]
                _wait_until_ready(programs, port, report)
                for line in lines:
                    say(line)
                while True:
                    time.sleep(_POLL_SECONDS)
                    for program in programs:
                        program.check()
                    for log in (settings.DATA_DIR / "logs").glob("*.log"):
                        rotate_log(log)


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
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def _public_url(port: int) -> str:
    """Return the address of the site: the setting, or this machine with the port."""
    if "public_url" in settings.ENVIRONMENT.model_fields_set:
        return str(settings.PUBLIC_URL)
    return f"http://{_local_host()}:{port}"


def _local_host() -> str:
    """Return `localhost` if it leads to this server. Browsers allow passkeys on names, not on addresses."""
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo("localhost", None, socket.AF_INET)}
    except OSError:
        return HOST
    return "localhost" if HOST in found else HOST


def _postgres(report: Report) -> AbstractContextManager[embedded.Server | None]:
    if settings.ENVIRONMENT.database_url:
        return nullcontext()
    is_first = not embedded.cluster_dir(settings.DATA_DIR).exists()
    report("Creating the database (first start only)..." if is_first else "Starting the database...")
    return embedded.running(settings.DATA_DIR)


@contextmanager
def _exclusive_lock(data_dir: Path, url: str) -> Iterator[bool]:
    """Lock the data folder for this `up`. The value says whether the previous one was killed."""
    with _lock_file(data_dir) as lock:
        lock.seek(0)
        before = lock.read().split()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where, pid = before or ["somewhere", "unknown"]
            message = f"CogniReview is already running on {data_dir}: {where} (process {pid})."
            raise CannotRun(message, status=1) from None
        _write(lock, f"{url} {os.getpid()}")
        try:
            yield bool(before)
        finally:
            _write(lock, "")


def _lock_file(data_dir: Path) -> IO[str]:
    path = data_dir / "locks" / "up"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+")
    except OSError as error:
        raise CannotRun(environment.unwritable(error), status=2) from error


def _write(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


def _check_port(port: int, *, patient: bool) -> None:
    """Check that the port is free. Otherwise two servers would share the port and its requests.

    If `patient`, wait for the web server of a crashed `up`, which is about to stop.
    """
    end = time.monotonic() + (_PORT_TIMEOUT_SECONDS if patient else 0)
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                if time.monotonic() >= end or error.errno != errno.EADDRINUSE:
                    message = f"Port {port} cannot be used: {error.strerror}. Choose another with --port."
                    raise CannotRun(message, status=2) from None
            else:
                return
        time.sleep(0.1)


def _check_front_end() -> None:
    if missing := static_files.missing_packages():
        packages = ", ".join(missing)
        message = f"static/vendor lacks {packages}. Run: uv sync --reinstall-package cognireview"
        raise CannotRun(message, status=2)


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

    def __init__(self, name: str, module_name: str, *arguments: str, url: str, report: Report) -> None:
        super().__init__(name, settings.DATA_DIR / "logs" / f"{module_name}.log", report)
        # An installed program may run in any folder, from which no module must be imported.
        safe = ["-P"] if environment.IS_INSTALLED else []
        module = ["-m", "cognireview.processes.child_process"]
        self._command = [sys.executable, *safe, *module, module_name, str(os.getpid()), *arguments]
        self._environment = os.environ | {environment.variable_name("public_url"): url}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        try:
            self.log.parent.mkdir(exist_ok=True)
            with self.log.open("ab") as log:
                # In a session of its own: Ctrl+C reaches `up` only, which then stops its children in order.
                self.process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=settings.BASE_DIR,
                    env=self._environment,
                    start_new_session=True,
                )
        except OSError as error:
            raise ProgramError(f"it cannot be started ({error.strerror})") from error

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def exit_reason(self) -> str:
        status = self.process.returncode if self.process else 0
        return _signal_description(-status) if status < 0 else f"it ended with status {status}"

    def terminate(self) -> None:
        if self.process:
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process and its children."""
        if self.process and self.is_running():
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class _Database(SupervisedProgram):
    """The embedded PostgreSQL."""

    def __init__(self, server: embedded.Server, report: Report) -> None:
        super().__init__("database", server.log, report)
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
        raise ProgramError(f"{error.filename or settings.DATA_DIR}: {error.strerror}") from error


def _signal_description(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
    return f"it was ended by signal {number} ({name})"


@contextmanager
def _children(port: int, url: str, report: Report) -> Iterator[list[_Child]]:
    children = [
        _Child("web server", "web", str(port), url=url, report=report),
        _Child("worker", "worker", url=url, report=report),
    ]
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


def _wait_until_ready(programs: Sequence[SupervisedProgram], port: int, report: Report) -> None:
    slow = time.monotonic() + _READY_TIMEOUT_SECONDS
    while not _is_ready(port):
        for program in programs:
            program.check()
        if time.monotonic() > slow:
            slow = math.inf
            logs = " and ".join(str(program.log) for program in programs)
            report(f"The site does not answer yet. See {logs}.")
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
