"""Servers as tests need real ones: a replica of PostgreSQL, PgBouncer, web servers and workers.

Each is a context manager whose block has the server answering, and none left behind it. They listen on
127.0.0.1 or on a socket of their own.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import psycopg
from django.conf import settings

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from cognireview.postgres.server_account import server_account
from tests.support.waiting import PATIENCE, free_port

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
SECONDS_TO_END = 20
# Web servers that start together share the folder of static files.
_COLLECTING = threading.Lock()

# Debian's 1.18 and later. Whoever connects is the owner of the database.
_PGBOUNCER = """
[databases]
* = host='{host}' port={port} user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 500
query_wait_timeout = 30
"""
_CHILD = "cognireview.processes.child_process"


class Place(NamedTuple):
    """Where a PostgreSQL server, or what stands for one, takes connections."""

    name: str
    user: str
    host: str
    port: str

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Place":
        """The place that Django's connection settings name."""
        return cls(*(str(given[name]) for name in ("NAME", "USER", "HOST", "PORT")))

    @property
    def url(self) -> str:
        """As `DATABASE_URL` takes it; the host may be the folder of a socket."""
        where = urlencode({"user": self.user, "host": self.host, "port": self.port}, quote_via=quote)
        return f"postgresql:///{quote(self.name)}?{where}"

    def ask(self, question: str) -> Any:
        """The one value that a statement gives, if any, by a connection of its own."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            answer = connection.execute(question.encode())
            row = answer.fetchone() if answer.description else None
        return row[0] if row else None


@dataclass(frozen=True)
class Server:
    """A process of ours, in a session of its own, and the file of what it says."""

    process: "subprocess.Popen[bytes]"
    log: Path
    url: str = ""

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until(self, answers: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not answers():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it started."""
        os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Ask it to end, wait, and make sure of it and of the processes that it started."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_END)
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def replica(primary: Place, folder: Path) -> Iterator[Place]:
    """A streaming replica of an embedded PostgreSQL, from a base backup on."""
    programs = embedded.bin_dir()
    assert programs
    account = server_account()
    embedded.Server(folder, account, disposable=True).make_folders()
    cluster = folder / "postgres"
    cluster.mkdir(mode=0o700)
    account.chown(cluster)
    options = ["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync"]
    done = subprocess.run(
        [programs / "pg_basebackup", f"--pgdata={cluster}", f"--dbname={primary.url}", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=cluster,
        **account.subprocess_options,
    )
    assert done.returncode == 0, done.stderr
    with embedded.running(folder, disposable=True):
        yield Place.of(embedded.connection_settings(folder))._replace(name=primary.name)


@contextmanager
def pgbouncer(primary: Place, folder: Path, *, pool_size: int) -> Iterator[Place]:
    """PgBouncer in transaction mode, with so many connections to each database of the server."""
    assert PGBOUNCER
    account, port = server_account(), free_port()
    account.grant_traversal(folder)
    settings_file = folder / "pgbouncer.ini"
    place = {"host": primary.host, "port": primary.port, "user": primary.user}
    settings_file.write_text(_PGBOUNCER.format(**place, listen_port=port, pool_size=pool_size))
    settings_file.chmod(0o644)
    front = primary._replace(host="127.0.0.1", port=str(port))

    def answers() -> bool:
        with suppress(psycopg.OperationalError):
            return bool(front.ask("SELECT 1"))
        return False

    with _running("pgbouncer", [PGBOUNCER, settings_file], folder, **account.subprocess_options) as server:
        server.wait_until(answers)
        yield front


@contextmanager
def web(database: str, folder: Path, name: str = "web", **variables: str) -> Iterator[Server]:
    """A web server on the database of that URL; `variables` are more settings."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "cognireview.processes.child_process",
        "web",
        str(os.getpid()),
        str(port),
    ]
    url = f"http://127.0.0.1:{port}"
    environment = _environment(database, COGNIREVIEW_PUBLIC_URL=url, **variables)
    _collect_static_files(environment)

    def answers() -> bool:
        with suppress(OSError), urlopen(f"{url}/readyz", timeout=10) as response:
            return int(response.status) == 200
        return False

    with _running(name, command, folder, url=url, env=environment, cwd=BASE_DIR) as server:
        server.wait_until(answers)
        yield server


@contextmanager
def worker(database: str, folder: Path, name: str = "worker", **variables: str) -> Iterator[Server]:
    """A job worker, as `web`."""
    command = [sys.executable, "-m", _CHILD, "worker", str(os.getpid())]
    with _running(name, command, folder, env=_environment(database, **variables), cwd=BASE_DIR) as server:
        server.wait_until(lambda: "Starting worker" in server.said())
        yield server


@contextmanager
def _running(
    name: str, command: Sequence[str | Path], folder: Path, *, url: str = "", **options: Any
) -> Iterator[Server]:
    log = folder / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True, **options)
    server = Server(process, log, url)
    try:
        yield server
    finally:
        server.end()


def _environment(database: str, **variables: str) -> dict[str, str]:
    """All of them share a secret key and the collected static files; their settings are those given here."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COGNIREVIEW_", "DATABASE_", "GRANIAN_"))
    }
    data_dir = str(settings.DATA_DIR / "tests" / "served")
    return kept | {"DATABASE_URL": database, "COGNIREVIEW_DATA_DIR": data_dir} | variables


def _collect_static_files(environment: dict[str, str]) -> None:
    """Collect them once for all web servers, and again only if they changed."""
    program = (
        "import django; django.setup(); from cognireview.web import static_files; static_files.collect()"
    )
    also = {"DJANGO_SETTINGS_MODULE": "cognireview.settings"}
    with _COLLECTING:
        subprocess.run([sys.executable, "-c", program], env=environment | also, cwd=BASE_DIR, check=True)
