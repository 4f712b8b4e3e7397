"""What `manage.py up` does: make everything ready, keep web server and job worker running, stop it all."""

import errno
import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from django.conf import settings

from cognireview import embedded_postgres, environment, static_files
from cognireview.migrating import migrate
from cognireview.supervised import HOST, SECONDS_TO_FINISH

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SECONDS_TO_FREE_THE_PORT = SECONDS_TO_FINISH + 5
_SECONDS_TO_GET_READY = 60
_SECONDS_BETWEEN_LOOKS = 0.5
# A process that lived that long had started well: its next end counts as the first again. What cannot start
# ends sooner; what is killed now and then must not end `up`.
_SECONDS_OF_A_GOOD_START = 10
_MOST_FAILURES = 6
_LARGEST_LOG = 32 * 1024**2


class Ended(Exception):
    """`up` cannot begin or go on. The message says why in one line; `status` is the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def up(*, port: int, greeting: Callable[[str], list[str]], say: Callable[[str], None]) -> None:
    """Run until a signal ends it, by `SystemExit(0)`. Raises `Ended`.

    `greeting` is called with the site's URL once the database is migrated and returns the lines to
    `say` once the site answers.
    """
    for number in _SIGNALS:
        # nohup has it ignored, and means that.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    url = _public_url(port)
    with _only_one(settings.DATA_DIR, url) as after_a_crash:
        _check_port(port, patient=after_a_crash)
        _check_front_end()
        with ThreadPoolExecutor() as aside, _postgres() as postgres:
            collected = aside.submit(static_files.collect)
            migrate()
            lines = greeting(url)
            collected.result()
            with _children(port, url) as children:
                _wait_until_ready(children, port)
                for line in lines:
                    say(line)
                while True:
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                    if postgres:
                        postgres.revive()
                    for child in children:
                        child.tend()
                    for log in (settings.DATA_DIR / "logs").glob("*.log"):
                        shorten(log)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Leave by way of every `finally`; a second Ctrl+C must not cut that short."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def _public_url(port: int) -> str:
    """Where people reach the site: as the operator says, or else this machine at the port."""
    if "public_url" in settings.ENVIRONMENT.model_fields_set:
        return str(settings.PUBLIC_URL)
    return f"http://{_local_name()}:{port}"


def _local_name() -> str:
    """The name of this machine for itself where it leads to us: browsers take passkeys at a name alone."""
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo("localhost", None, socket.AF_INET)}
    except OSError:
        return HOST
    return "localhost" if HOST in found else HOST


def _postgres() -> AbstractContextManager[embedded_postgres.Server | None]:
    if settings.ENVIRONMENT.database_url:
        return nullcontext()
    return embedded_postgres.running(settings.DATA_DIR)


@contextmanager
def _only_one(data_dir: Path, url: str) -> Iterator[bool]:
    """Hold the data folder for this `up`; the value says whether the one before it was killed."""
    path = data_dir / "locks" / "up"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        lock.seek(0)
        before = lock.read().split()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where, pid = before or ["somewhere", "unknown"]
            message = f"CogniReview is already running on {data_dir}: {where} (process {pid})."
            raise Ended(message, status=1) from None
        _write(lock, f"{url} {os.getpid()}")
        try:
            yield bool(before)
        finally:
            _write(lock, "")


def _write(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


def _check_port(port: int, *, patient: bool) -> None:
    """Make sure that nobody listens on the port: the web server would share it and get half of the requests.

    After a crash, wait for the web server that was left behind and is about to stop.
    """
    end = time.monotonic() + (_SECONDS_TO_FREE_THE_PORT if patient else 0)
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                if time.monotonic() >= end or error.errno != errno.EADDRINUSE:
                    message = f"Port {port} cannot be used: {error.strerror}. Try another: --port"
                    raise Ended(message, status=2) from None
            else:
                return
        time.sleep(0.1)


def _check_front_end() -> None:
    if missing := static_files.missing_packages():
        packages = ", ".join(missing)
        message = f"static/vendor lacks {packages}. Run: uv sync --reinstall-package cognireview"
        raise Ended(message, status=2)


def shorten(log: Path) -> None:
    """Empty a log that is full, and keep what stood in it in the place of what was kept so before.

    Its process has the file open and writes on at the end. So the file must stay where it is.
    """
    with suppress(OSError):  # a full disk is no reason to stop
        if log.stat().st_size > _LARGEST_LOG:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


class _Child:
    """A process that is started again when it ends, with longer and longer pauses."""

    def __init__(self, name: str, *arguments: str, url: str) -> None:
        self.name = name
        self.log = settings.DATA_DIR / "logs" / f"{name}.log"
        # Installed, it is called from anywhere: no module may come from the folder it is called in.
        safe = ["-P"] if environment.IS_INSTALLED else []
        module = ["-m", "cognireview.supervised"]
        self._command = [sys.executable, *safe, *module, name, str(os.getpid()), *arguments]
        self._environment = os.environ | {environment.variable_name("public_url"): url}
        self._failures = 0
        self._due = 0.0
        self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            # In a session of its own, so that Ctrl+C reaches `up` alone, which stops the others in order.
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=settings.BASE_DIR,
                env=self._environment,
                start_new_session=True,
            )

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def tend(self) -> None:
        """Start the process again if it ended and its pause is over. Raises `Ended` if that never helps."""
        now = time.monotonic()
        if not self.has_ended:
            return
        if not self._due:
            self._failures = 1 if now - self._started > _SECONDS_OF_A_GOOD_START else self._failures + 1
            if self._failures == _MOST_FAILURES:
                raise Ended(f"The {self.name} process keeps stopping: see {self.log}", status=1)
            self._due = now + 2.0 ** (self._failures - 1) - 1
        if now >= self._due:
            self._due = 0.0
            self._start()

    def kill(self) -> None:
        """End the process and those it started."""
        if not self.has_ended:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def _children(port: int, url: str) -> Iterator[list[_Child]]:
    children: list[_Child] = []
    try:
        children.append(_Child("web", str(port), url=url))
        children.append(_Child("worker", url=url))
        yield children
    finally:
        for child in children:
            child.process.terminate()
        end = time.monotonic() + SECONDS_TO_FINISH + 5
        while time.monotonic() < end and not all(child.has_ended for child in children):
            time.sleep(0.02)
        for child in children:
            child.kill()


def _wait_until_ready(children: list[_Child], port: int) -> None:
    end = time.monotonic() + _SECONDS_TO_GET_READY
    while not _is_ready(port):
        for child in children:
            if child.has_ended:
                raise Ended(f"The {child.name} process did not start: see {child.log}", status=1)
        if time.monotonic() > end:
            raise Ended(f"The site does not get ready: see {children[0].log}", status=1)
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
