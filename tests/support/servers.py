"""Real servers for tests: a PostgreSQL replica, PgBouncer, web servers and workers.

Each is a context manager whose block starts once the server answers, and which stops the server at the
end. Servers listen on 127.0.0.1 or on a socket of their own.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import psycopg
from django.conf import settings as django_settings

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from cognireview.postgres.server_account import server_account
from tests.support.processes import Process, environment, running, running_manage_py
from tests.support.waiting import PATIENCE, free_port

_PATH = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"
PGBOUNCER = shutil.which("pgbouncer", path=_PATH)
HAPROXY = shutil.which("haproxy", path=_PATH)
# Web servers that start at the same time share the folder of static files.
_COLLECTING = threading.Lock()
# The data folders that have them.
_COLLECTED: set[str] = set()

# For Debian's 1.18 and later. Every client connects as the owner of the database.
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
query_wait_timeout = 60
"""


class Place(NamedTuple):
    """The address of a PostgreSQL server, or of a pooler before it."""

    name: str
    user: str
    host: str
    port: str

    @classmethod
    def from_settings(cls, given: dict[str, Any]) -> "Place":
        """Return the place that Django's connection settings name."""
        return cls(*(str(given[name]) for name in ("NAME", "USER", "HOST", "PORT")))

    @property
    def url(self) -> str:
        """Return the place as a `DATABASE_URL`; the host may be a socket folder."""
        where = urlencode({"user": self.user, "host": self.host, "port": self.port}, quote_via=quote)
        return f"postgresql:///{quote(self.name)}?{where}"

    def ask(self, question: str) -> Any:
        """Return the first value of a statement's result, if any, over a new connection."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            answer = connection.execute(question.encode())
            row = answer.fetchone() if answer.description else None
        return row[0] if row else None


class Server(NamedTuple):
    """A web server or a worker."""

    process: Process
    #: The base URL; only web servers have one.
    url: str = ""


@contextmanager
def replica(primary: Place, folder: Path) -> Iterator[Place]:
    """Run a streaming replica of an embedded PostgreSQL, made from a base backup."""
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
        yield Place.from_settings(embedded.connection_settings(folder))._replace(name=primary.name)


@contextmanager
def pgbouncer(primary: Place, folder: Path, *, pool_size: int) -> Iterator[Place]:
    """Run PgBouncer in transaction mode with `pool_size` connections to each database."""
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

    command: list[str | Path] = [PGBOUNCER, settings_file]
    with running(command, folder / "pgbouncer.log", **account.subprocess_options) as process:
        process.wait_until(answers)
        yield front


@contextmanager
def web(
    database: str, folder: Path, name: str = "web", host: str = "127.0.0.1", **variables: str
) -> Iterator[Server]:
    """Run a web server on the database with that URL; `variables` are further settings."""
    port = free_port()
    url = f"http://{host}:{port}"
    settings = _settings(database, **{"COGNIREVIEW_PUBLIC_URL": url, **variables})
    _collect_static_files(settings)

    def is_ready() -> bool:
        with suppress(OSError), urlopen(f"{url}/readyz", timeout=PATIENCE) as response:
            return int(response.status) == 200
        return False

    with running_manage_py(
        ["serve", f"--host={host}", f"--port={port}"], folder / f"{name}.log", settings
    ) as process:
        process.wait_until(is_ready)
        yield Server(process, url)


@contextmanager
def worker(database: str, folder: Path, name: str = "worker", **variables: str) -> Iterator[Server]:
    """Run a job worker on the database with that URL; `variables` are further settings."""
    settings = _settings(database, **variables)
    with running_manage_py(["work"], folder / f"{name}.log", settings) as process:
        process.wait_until(lambda: "Starting worker" in process.output())
        yield Server(process)


def _settings(database: str, **variables: str) -> dict[str, str]:
    """Return the environment of a server. All servers share a secret key and the collected static files."""
    data_dir = str(django_settings.DATA_DIR / "tests" / "served")
    return environment(DATABASE_URL=database, COGNIREVIEW_DATA_DIR=data_dir, **variables)


def _collect_static_files(settings: dict[str, str]) -> None:
    """Collect the static files, for the first web server alone."""
    program = (
        "import django; django.setup(); from cognireview.web import static_files; static_files.collect()"
    )
    variables = settings | {"DJANGO_SETTINGS_MODULE": "cognireview.settings"}
    folder = settings["COGNIREVIEW_DATA_DIR"]
    with _COLLECTING:
        if folder not in _COLLECTED:
            subprocess.run([sys.executable, "-c", program], env=variables, cwd=BASE_DIR, check=True)
            _COLLECTED.add(folder)
