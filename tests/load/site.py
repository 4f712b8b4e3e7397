"""The program as people run it: `manage.py up` on a scratch folder, and the processes below it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from psycopg import pq
from psycopg.conninfo import make_conninfo

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from tests.support.waiting import eventually, free_port

SECONDS_TO_START = 300
SECONDS_TO_STOP = 40
# Two web processes, and a worker that died counts as dead sooner than usual.
_VARIABLES = {
    "COGNIREVIEW_WEB_WORKERS": "2",
    "COGNIREVIEW_STALLED_WORKER_SECONDS": "5",
    "COGNIREVIEW_LOG_LEVEL": "WARNING",
}


class Broken(Exception):
    """The site does not do what the test needs to go on; the message says what."""


class Site:
    """A running `manage.py up`: web server, worker and PostgreSQL, started again when one of them dies."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "up", f"--port={self.port}"],
            cwd=BASE_DIR,
            env={**_inherited(), **_VARIABLES, "COGNIREVIEW_DATA_DIR": str(data_dir)},
            stdout=(data_dir.parent / "up.log").open("wb"),
            stderr=subprocess.STDOUT,
        )

    @property
    def said(self) -> str:
        return (self.data_dir.parent / "up.log").read_text()

    def wait_until_ready(self) -> None:
        wait_until(lambda: "http" in self.said or self._process.poll() is not None, SECONDS_TO_START)
        self.check_runs()

    def check_runs(self) -> None:
        """Raise `Broken` if `up` has ended."""
        if self._process.poll() is not None:
            raise Broken(f"`up` has ended with status {self._process.returncode}: {self.said}")

    def stop(self) -> None:
        """End it as its operator does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Broken(f"`up` does not end within {SECONDS_TO_STOP} seconds of SIGTERM") from None

    def child(self, name: str) -> psutil.Process | None:
        """The process that `up` has started as `name`, web or worker; None while there is none."""
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._process.pid).children():
                if name in process.cmdline():
                    return process
        return None

    def postmaster(self) -> psutil.Process | None:
        """The first process of PostgreSQL; None while there is none."""
        with suppress(OSError, IndexError, ValueError, psutil.NoSuchProcess):
            pid = int((self.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(pid)
            return process if process.name() == "postgres" else None
        return None

    def database_answers(self) -> bool:
        """Whether PostgreSQL takes connections: it does not while it recovers."""
        place = embedded.connection_settings(self.data_dir)
        parameters = {"host": place["HOST"], "port": place["PORT"], "user": place["USER"]}
        return pq.PGconn.ping(make_conninfo(dbname=place["NAME"], **parameters).encode()) == pq.Ping.OK

    def log(self, name: str) -> str:
        """What a process has said, of which no more is kept than its last 32 MB."""
        path = self.data_dir / "logs" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


@contextmanager
def running(data_dir: Path) -> Iterator[Site]:
    """A site for the length of the block, ended however that ends."""
    site = Site(data_dir)
    try:
        site.wait_until_ready()
        yield site
    finally:
        site.stop()


def wait_until(happens: Callable[[], bool], seconds: float, what: str = "the site starts") -> None:
    """Wait for it. Raises `Broken` when that takes longer."""
    if not eventually(happens, within=seconds):
        raise Broken(f"waited {seconds:.0f} seconds, and not yet: {what}")


def _inherited() -> dict[str, str]:
    """The environment without settings of whoever runs the test."""
    ours = ("COGNIREVIEW_", "DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
