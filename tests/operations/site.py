"""Web servers and workers on a PostgreSQL server that tests can stop and start."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from cognireview.postgres import embedded
from tests.support.commands import manage_py
from tests.support.processes import Process, environment, running_manage_py
from tests.support.servers import Place
from tests.support.waiting import eventually, free_port


@dataclass
class Answer:
    """The result of a request. The status is 0 if no answer arrived."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0


def ask(port: int, path: str, *, timeout: float = 20, **headers: str) -> Answer:
    """GET a path over a new connection."""
    begin = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        response = connection.getresponse()
        return Answer(response.status, response.read(), dict(response.headers), time.monotonic() - begin)
    except OSError:
        return Answer(0, seconds=time.monotonic() - begin)
    finally:
        connection.close()


@dataclass
class Site:
    """A database and any number of processes that use it."""

    data_dir: Path
    postgres: embedded.Server
    settings: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def database(self) -> Place:
        return Place.from_settings(embedded.connection_settings(self.data_dir))

    @property
    def environment(self) -> dict[str, str]:
        ours = {
            "COGNIREVIEW_DATA_DIR": str(self.data_dir),
            "COGNIREVIEW_STALLED_WORKER_SECONDS": "4",
            "DATABASE_URL": self.database.url,
        }
        return environment(**ours | self.settings)

    def run(self, *arguments: str) -> str:
        """Run a command to its end and return its output."""
        done = manage_py(self.data_dir, *arguments, **self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def process(self, *arguments: str) -> Iterator[Process]:
        """Run a command for the length of the block; its log is named after the command."""
        log = self.data_dir / f"{arguments[0]}-{next(self._numbers)}.log"
        with running_manage_py(arguments, log, self.environment) as process:
            yield process

    @contextmanager
    def web(self) -> Iterator[tuple[int, Process]]:
        """Run a web server and yield its port and process once it is ready."""
        port = free_port()
        with self.process("serve", f"--port={port}") as process:
            process.wait_until(lambda: ask(port, "/readyz").status == 200)
            yield port, process

    def token(self, name: str, role: str) -> str:
        """Create a user with this role and return an API token for them."""
        program = (
            "from django.contrib.auth.models import Group; from reviews.models import User;"
            f" User.objects.create_user('{name}').groups.add(Group.objects.get(name='{role}'))"
        )
        self.run("shell", "--verbosity=0", "--command", program)
        printed = self.run("create_token", name, "--scope", "read,review,import,export")
        return next(word for word in printed.split() if word.startswith("cr_"))

    def logs(self) -> str:
        """Return the end of each log."""
        said = [f"{path.name}:\n{path.read_text()[-2000:]}" for path in sorted(self.data_dir.glob("*.log"))]
        return "\n".join(said)

    def query(self, statement: str, *values: Any) -> Any:
        """Return the first value of a statement's result."""
        with psycopg.connect(self.database.url, autocommit=True) as connection:
            row = connection.execute(statement.encode(), values).fetchone()
        return row[0] if row else None

    def take_database_away(self, *, how: str) -> None:
        """Shut the database down (`how="stop"`) or kill its main process (`how="kill"`)."""
        with self.postgres.gate():
            if how == "kill":
                pid = (self.postgres.cluster / "postmaster.pid").read_text().split()[0]
                os.kill(int(pid), signal.SIGKILL)
                assert eventually(lambda: not self.postgres.is_alive())
            else:
                self.postgres.stop()

    def bring_database_back(self) -> None:
        with self.postgres.gate():
            self.postgres.start()


@contextmanager
def running(data_dir: Path, **settings: str) -> Iterator[Site]:
    """Yield a site with migrated tables and collected static files, but no running process."""
    data_dir.mkdir(exist_ok=True)
    with ExitStack() as stack:
        postgres = stack.enter_context(embedded.running(data_dir, disposable=True))
        site = Site(data_dir, postgres, settings)
        site.run("migrate", "--no-input", "--verbosity=0")
        site.run("collectstatic", "--no-input", "--verbosity=0")
        yield site
