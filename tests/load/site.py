"""Run `manage.py up` on a scratch folder, and find its child processes."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from psycopg import pq
from psycopg.conninfo import make_conninfo

from cognireview.postgres import embedded
from cognireview.processes.child_process import process_name
from tests.support.processes import Process, environment, running_manage_py
from tests.support.waiting import eventually, free_port

SECONDS_TO_START = 300
SECONDS_TO_STOP = 40
# Two web processes. A dead worker is detected sooner than by default.
_VARIABLES = {
    "COGNIREVIEW_WEB_WORKERS": "2",
    "COGNIREVIEW_STALLED_WORKER_SECONDS": "5",
    "COGNIREVIEW_LOG_LEVEL": "WARNING",
}


class Broken(Exception):
    """The site is not in the state that the test needs. The message says why."""


class Site:
    """A running `manage.py up` with web server, worker and PostgreSQL, which it restarts after a crash."""

    def __init__(self, process: Process, data_dir: Path, port: int) -> None:
        self.data_dir, self.port = data_dir, port
        self._process = process

    def wait_until_ready(self) -> None:
        self._process.wait_until(lambda: "http" in self._process.output(), seconds=SECONDS_TO_START)

    def check_runs(self) -> None:
        """Raise `Broken` if `up` has ended."""
        if not self._process.is_running:
            raise Broken(
                f"`up` has ended with status {self._process.popen.returncode}: {self._process.output()}"
            )

    def stop(self) -> None:
        """Stop `up` as an operator does. Raises `Broken` if it does not end."""
        try:
            self._process.stop(seconds=SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            raise Broken(f"`up` does not end within {SECONDS_TO_STOP} seconds of SIGTERM") from None

    def child(self, name: str) -> psutil.Process | None:
        """Return the child that `up` has started as `name` (web or worker), or None if it is not running."""
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._process.pid).children():
                if process.name() == process_name(name):
                    return process
        return None

    def postmaster(self) -> psutil.Process | None:
        """Return the main process of PostgreSQL, or None if it is not running."""
        with suppress(OSError, IndexError, ValueError, psutil.NoSuchProcess):
            pid = int((self.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(pid)
            return process if process.name() == "postgres" else None
        return None

    def database_answers(self) -> bool:
        """Return whether PostgreSQL accepts connections, which it refuses during recovery."""
        place = embedded.connection_settings(self.data_dir)
        parameters = {"host": place["HOST"], "port": place["PORT"], "user": place["USER"]}
        return pq.PGconn.ping(make_conninfo(dbname=place["NAME"], **parameters).encode()) == pq.Ping.OK

    def log(self, name: str) -> str:
        """Return the last 32 MB of a process's log."""
        path = self.data_dir / "logs" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


@contextmanager
def running(data_dir: Path, **variables: str) -> Iterator[Site]:
    """Run `manage.py up` on a data folder for the length of the block; `variables` are further settings."""
    port, log = free_port(), data_dir.parent / "up.log"
    settings = environment(**_VARIABLES, **variables, COGNIREVIEW_DATA_DIR=str(data_dir))
    with running_manage_py(["up", f"--port={port}"], log, settings) as process:
        site = Site(process, data_dir, port)
        site.wait_until_ready()
        yield site
        site.stop()


def wait_until(happens: Callable[[], bool], seconds: float, what: str = "the site starts") -> None:
    """Wait for a condition. Raises `Broken` after `seconds`."""
    if not eventually(happens, within=seconds):
        raise Broken(f"waited {seconds:.0f} seconds, and not yet: {what}")
