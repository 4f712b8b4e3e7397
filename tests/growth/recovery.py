"""`python -m tests.growth.recovery`: rehearse a point-in-time recovery; exit 1 after any loss.

A PostgreSQL of Debian archives its WAL with pgBackRest. After a full backup, people review, then a table is
dropped. The recovery goes back to the moment between, and nothing of before may be lost (docs/backup.md).
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from io import StringIO
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import django
from django.core.management import call_command
from django.db import connection

from cognireview.postgres.server_account import server_account
from tests.growth import patroni
from tests.support.processes import running
from tests.support.waiting import free_port

STANZA = "cognireview"
RUN, RECORDS, DECIDED = "recovered", 60, 20
_PGBACKREST = """
[global]
repo1-path={folder}/repository
repo1-retention-full=2
start-fast=y
log-path={folder}
lock-path={folder}
spool-path={folder}

[{stanza}]
pg1-path={folder}/postgres
pg1-port={port}
pg1-socket-path={folder}
"""
_POSTGRES = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
archive_mode = on
archive_command = 'pgbackrest --config={folder}/pgbackrest.conf --stanza={stanza} archive-push %p'
"""


@dataclass
class Database:
    """A PostgreSQL that archives its WAL, and the commands of its account."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://{patroni.NAME}@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        self.folder.mkdir(mode=0o700)
        server_account().chown(self.folder)
        values = {"folder": self.folder, "port": self.port, "stanza": STANZA}
        (self.folder / "pgbackrest.conf").write_text(_PGBACKREST.format(**values))
        self.execute(
            patroni.bin_dir() / "initdb",
            "--auth=trust",
            "--locale=C.UTF-8",
            "--encoding=UTF8",
            f"--username={patroni.NAME}",
            self.folder / "postgres",
        )
        with (self.folder / "postgres" / "postgresql.conf").open("a") as file:
            file.write(_POSTGRES.format(**values))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the server, and shut it down at the end, which archives the rest of its WAL."""
        account = server_account()
        command: list[str | Path] = [patroni.bin_dir() / "postgres", "-D", self.folder / "postgres"]
        options: dict[str, Any] = {**account.subprocess_options, "cwd": self.folder}
        with running(command, self.folder / "postgres.log", **options) as process:
            process.wait_until(self.takes_writes)
            yield
            connection.close()
            process.stop()

    def takes_writes(self) -> bool:
        ready = patroni.bin_dir() / "psql"
        asked = run(
            [ready, self.url, "--tuples-only", "--command=SELECT pg_is_in_recovery()"],
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.stdout.strip() == "f"

    def backrest(self, *arguments: str) -> float:
        """Run pgBackRest and return its seconds."""
        begin = time.monotonic()
        self.execute(
            "/usr/bin/pgbackrest",
            f"--config={self.folder}/pgbackrest.conf",
            f"--stanza={STANZA}",
            "--log-level-console=warn",
            *arguments,
        )
        return time.monotonic() - begin

    def execute(self, *command: str | Path) -> None:
        """Run a command as the account of the server."""
        done = run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **server_account().subprocess_options,
        )
        if done.returncode:
            sys.exit(
                f"{command}\n{done.stdout}{done.stderr}{(self.folder / 'postgres.log').read_text()[-3000:]}"
            )


def main() -> None:
    with TemporaryDirectory(prefix="cognireview-recovery-") as name:
        server_account().grant_traversal(Path(name))
        database = Database(Path(name) / "database", free_port())
        settings = {"DATABASE_URL": database.url, "COGNIREVIEW_DATA_DIR": f"{name}/var"}
        os.environ |= {
            **settings,
            "COGNIREVIEW_BLIND_SHARE": "0",
            "DJANGO_SETTINGS_MODULE": "cognireview.settings",
        }
        django.setup()
        problems = list(_rehearse(database, Path(name)))
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201
    print("Everything was recovered." if not problems else f"Does not hold: {len(problems)}")  # noqa: T201
    sys.exit(1 if problems else 0)


def _rehearse(database: Database, folder: Path) -> Iterator[str]:
    # Models can be imported only after Django is set up.
    programs = import_module("tests.growth.programs")
    database.create()
    with database.running():
        call_command("migrate", verbosity=0)
        database.backrest("stanza-create")
        database.backrest("check")
        with _site(database, folder) as site:
            admin = programs.Program("max", "admin", "import")
            people = [programs.Program(f"reviewer{number}", "reviewer", "review") for number in range(2)]
            [file] = programs.scored(1, RECORDS)
            admin.wait_for(site, admin.upload(site, RUN, file))
            _say("full backup", database.backrest("backup", "--type=full"))
            for number in range(DECIDED):
                people[number % 2].review_next(RUN, site, site)
        before, moment = _facts(), str(_ask("SELECT clock_timestamp()"))
        _ask("DROP TABLE evaluation CASCADE")
    target = ["--type=time", f"--target={moment}", "--target-action=promote"]
    _say("restore of the backup", database.backrest("restore", "--delta", *target))
    begin = time.monotonic()
    with database.running():
        _say("replay of the archived WAL", time.monotonic() - begin)
        after = _facts()
        yield from (
            f"{name}: {before[name]} before, {after[name]} after"
            for name in before
            if after[name] != before[name]
        )
        call_command("verify_runs")
        with _site(database, folder) as site:
            left = len(people[0].review_all(RUN, site))
        if left != RECORDS - DECIDED:
            yield f"{left} records could be decided after the recovery, not {RECORDS - DECIDED}"
        call_command("verify_audit", "--head", str(before["head of the audit log"]))


@contextmanager
def _site(database: Database, folder: Path) -> Iterator[Any]:
    servers, settings = import_module("tests.support.servers"), {"COGNIREVIEW_BLIND_SHARE": "0"}
    with (
        servers.worker(database.url, folder, **settings),
        servers.web(database.url, folder, **settings) as site,
    ):
        yield site


def _facts() -> dict[str, object]:
    """Return everything that has to be the same after the recovery."""
    out = StringIO()
    call_command("verify_audit", stdout=out)
    lines = import_module("tests.support.lines")
    return {
        "decisions": _ask("SELECT count(*) FROM review"),
        "head of the audit log": re.findall("head ([0-9a-f:]+)", out.getvalue())[0],
        "SHA-256 of the export": sha256(lines.export_data(run=RUN)).hexdigest(),
    }


def _ask(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def _say(step: str, seconds: float) -> None:
    print(f"{step:30} {seconds:5.1f} s", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
