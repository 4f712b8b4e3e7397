"""Prepare `manage.py up`, then become the supervisor, whose memory has nothing that only the start needs."""

import errno
import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import IO, NoReturn

from django.conf import settings
from django.db import connections

from cognireview import environment
from cognireview.postgres import embedded
from cognireview.postgres.migrations import migrate, require_fit
from cognireview.processes import supervisor
from cognireview.processes.child_process import GRACE_SECONDS, HOST
from cognireview.processes.listening import check_free
from cognireview.processes.supervisor import SIGNALS, Report, Site
from cognireview.web import static_files

_PORT_TIMEOUT_SECONDS = GRACE_SECONDS + 5


class CannotRun(Exception):
    """`up` cannot start. The message says why in one line, and `status` is the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def up(*, port: int, greeting: Callable[[str], list[str]], report: Report) -> NoReturn:
    """Prepare everything, then replace this process by the supervisor. Raises `CannotRun`.

    `greeting` is called with the site's URL after the migrations. The supervisor prints its lines once the
    site answers. `report` gets a line for each step.
    """
    supervisor.exit_gracefully_on_signals()
    url = _public_url(port)
    with _exclusive_lock(settings.DATA_DIR, url) as (lock, after_a_crash):
        _check_port(port, patient=after_a_crash)
        _check_front_end()
        with ThreadPoolExecutor() as aside, _postgres(report):
            collected = aside.submit(static_files.collect, report)
            migrate(report)
            require_fit()
            lines = greeting(url)
            collected.result()
            report("Starting the web server and the worker...")
            site = Site(
                port=port,
                url=url,
                url_variable=environment.variable_name("public_url"),
                base_dir=str(settings.BASE_DIR),
                data_dir=str(settings.DATA_DIR),
                has_database=not settings.ENVIRONMENT.database_url,
                is_installed=environment.IS_INSTALLED,
                lock=lock.fileno(),
                lines=lines,
            )
        _become_supervisor(site)


def _become_supervisor(site: Site) -> NoReturn:
    """Replace the program of this process. Signals wait until the supervisor handles them."""
    connections.close_all()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    # Not as arguments, which other users can read: the lines contain passwords of the demo.
    receiver, sender = os.pipe()
    os.write(sender, f"{json.dumps(asdict(site))}\n".encode())
    for descriptor in (receiver, site.lock):
        os.set_inheritable(descriptor, True)  # noqa: FBT003 its only argument
    os.chdir(site.base_dir)
    sys.stdout.flush()
    sys.stderr.flush()
    # An installed program may run in any folder, from which no module must be imported.
    options = ["-P"] if site.is_installed else []
    command = [sys.executable, *options, "-m", "cognireview.processes.supervisor", str(receiver)]
    os.execv(sys.executable, command)  # noqa: S606 the same program


def _public_url(port: int) -> str:
    """Return the address of the site: the setting, or this machine with the port."""
    if "public_url" in settings.ENVIRONMENT.given:
        return str(settings.PUBLIC_URL)
    return f"http://{_local_host()}:{port}"


def _local_host() -> str:
    """Return `localhost` if it leads to this server. Browsers allow passkeys on names, not on addresses."""
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo("localhost", None, socket.AF_INET)}
    except OSError:
        return HOST
    return "localhost" if HOST in found else HOST


def _postgres(report: Report) -> AbstractContextManager[object]:
    if settings.ENVIRONMENT.database_url:
        return nullcontext()
    is_first = not embedded.cluster_dir(settings.DATA_DIR).exists()
    report("Creating the database (first start only)..." if is_first else "Starting the database...")
    return embedded.running(settings.DATA_DIR)


@contextmanager
def _exclusive_lock(data_dir: Path, url: str) -> Iterator[tuple[IO[str], bool]]:
    """Lock the data folder for this `up`. Yields the file, and whether the previous `up` was killed."""
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
            yield lock, bool(before)
        finally:
            _write(lock, "")


def _lock_file(data_dir: Path) -> IO[str]:
    path = data_dir / "locks" / "up"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+")
    except OSError as error:
        raise CannotRun(embedded.unwritable(error), status=2) from error


def _write(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


def _check_port(port: int, *, patient: bool) -> None:
    """Check that the port is free.

    If `patient`, wait for the web server of a crashed `up`, which is about to stop.
    """
    end = time.monotonic() + (_PORT_TIMEOUT_SECONDS if patient else 0)
    while True:
        try:
            check_free(HOST, port)
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
