"""Run the migrations of a newer version while this version serves requests."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from cognireview.environment import BASE_DIR
from tests.operations.checking import expect, print_figures
from tests.operations.site import Site, ask
from tests.operations.traffic import Proxy, flowing
from tests.support.processes import running_manage_py
from tests.support.waiting import eventually, free_port

# The operations that docs/upgrading.md allows on tables in use.
_NEXT = {
    "9995_next": 'migrations.AddField("Evaluation", "colour", models.TextField(null=True))',
    "9996_next": 'migrations.AddField("Run", "size", models.IntegerField(db_default=0))',
    "9997_next": 'migrations.AddField("AuditEvent", "place", models.TextField(null=True))',
    "9998_next": 'migrations.CreateModel("Sketch", [("id", models.BigAutoField(primary_key=True))])',
    "9999_next": 'AddIndexConcurrently("Evaluation", models.Index(fields=["colour"], name="of_colour"))',
}
_MODULE = """
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = {atomic}
    dependencies = [("reviews", "{before}")]
    operations = [{operation}]
"""
_SETTINGS = """
from cognireview.settings import *

MIGRATION_MODULES = {"reviews": "next_migrations"}
"""
_SECONDS_OF_A_LONG_QUERY = 12
_LONGEST_WAIT = 3


def check_upgrade(site: Site, token: str, folder: Path) -> None:
    """Migrate twice at once, behind a long query, while the old version is under load."""
    _make_next_version(folder)
    next_version = site.environment | {
        "DJANGO_SETTINGS_MODULE": "next_settings",
        "PYTHONPATH": str(folder),
        "COGNIREVIEW_DRAIN_SECONDS": "0",
    }
    with site.web() as (port, _), _serving(next_version) as next_port:
        expect(eventually(lambda: ask(next_port, "/readyz").status == 503), "The new version waits.")
        # Few clients, so that they wait for a migration rather than for each other.
        with flowing(Proxy([port]), token, clients=6) as traffic, _long_query(site):
            time.sleep(1)
            begin = time.monotonic()
            both = [_migrate(next_version) for _ in range(2)]
            statuses = [process.wait(180) for process in both]
            took = time.monotonic() - begin
            old_is_ready = ask(port, "/readyz").status
            time.sleep(1)
        new_is_ready = eventually(lambda: ask(next_port, "/readyz").status == 200, within=20)
    longest = max(client.longest for client in traffic.clients)
    print_figures(
        "A newer version's migrations, applied twice at once behind a long query",
        [
            ("migrate ended with", statuses),
            ("took", f"{took:.1f} s"),
            ("requests to the version before", traffic.sent),
            ("failed", traffic.failed or 0),
            ("longest request", f"{longest:.1f} s"),
            ("/readyz of the version before, after", old_is_ready),
        ],
    )
    expect(statuses == [0, 0], "Both end well.")
    expect(site.query("SELECT count(*) FROM django_migrations WHERE name LIKE '999__next'") == 5, "Once.")
    expect(traffic.sent > 20, "There were requests.")
    expect(not traffic.failed, "No request to the version before failed.")
    expect(longest < _LONGEST_WAIT, "Nobody waited behind the migration for long.")
    expect(old_is_ready == 200, "The version before stays ready.")
    expect(new_is_ready, "The new version is ready once its migrations are in.")


def _make_next_version(folder: Path) -> None:
    """Copy this version's migrations and add the operations of `_NEXT`."""
    package = folder / "next_migrations"
    shutil.copytree(
        BASE_DIR / "reviews" / "migrations", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    last = max(path.stem for path in package.glob("0*.py"))
    for name, operation in _NEXT.items():
        atomic = "Concurrently" not in operation
        (package / f"{name}.py").write_text(_MODULE.format(atomic=atomic, before=last, operation=operation))
        last = name
    (folder / "next_settings.py").write_text(_SETTINGS)


def _migrate(environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"], cwd=BASE_DIR, env=environment
    )


@contextmanager
def _serving(environment: dict[str, str]) -> Iterator[int]:
    port = free_port()
    with running_manage_py(["serve", f"--port={port}"], Path(os.devnull), environment):
        yield port


@contextmanager
def _long_query(site: Site) -> Iterator[None]:
    """Read a table that the migration changes, for some seconds."""
    may_end = threading.Event()

    def read() -> None:
        with psycopg.connect(site.database.url) as connection:
            connection.execute("SELECT count(*) FROM evaluation")
            may_end.wait(_SECONDS_OF_A_LONG_QUERY)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield
    finally:
        may_end.set()
        reader.join(30)
