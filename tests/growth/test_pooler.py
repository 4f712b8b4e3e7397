"""PgBouncer in transaction mode, with fewer connections than active users."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from reviews.models import Review, Run
from tests.growth.programs import Browser, Program, scored, undecided
from tests.support import servers
from tests.support.cleanup import CLEANUP
from tests.support.commands import manage_py
from tests.support.lines import export_data
from tests.support.servers import PGBOUNCER, Place, Server

needs_pgbouncer = pytest.mark.skipif(
    not (PGBOUNCER or os.environ.get("CI")), reason="no PgBouncer here (Debian: apt-get install pgbouncer)"
)
# The minimum in docs/growth.md: one for each concurrent job of the worker, and one more.
POOL = int(str(settings.PROCRASTINATE_WORKER_DEFAULTS["concurrency"])) + 1
POOLED = {"COGNIREVIEW_TRANSACTION_POOLER": "true", "COGNIREVIEW_BLIND_SHARE": "0"}
_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity"
    f" WHERE datname = '{{}}' AND pid <> pg_backend_pid() AND application_name <> '{CLEANUP}'"
)


@pytest.fixture
def pooled(database: Place, folder: Path) -> Iterator[Place]:
    with servers.pgbouncer(database, folder, pool_size=POOL) as place:
        yield place


@pytest.fixture
def site(pooled: Place, folder: Path) -> Iterator[Server]:
    """A web server and a worker."""
    with (
        servers.worker(pooled.url, folder, **POOLED) as worker,
        servers.web(pooled.url, folder, **POOLED) as web,
    ):
        yield web
        for server in (web, worker):
            assert "Traceback" not in server.process.output()
            assert "ERROR" not in server.process.output()


@needs_pgbouncer
def test_concurrent_reviews_and_jobs_through_a_pooler_export_the_right_file(
    site: Server, database: Place
) -> None:
    connection.close()
    admin, lead = Program("max", "admin", "import"), Program("lea", "lead", "export")
    first, *later = scored(4, 40)
    admin.wait_for(site, admin.upload(site, "first", first))
    reviewers = [Program(f"reviewer{number}", "reviewer", "review", "read") for number in range(5)]
    with ThreadPoolExecutor(8) as pool:
        reviewing = [pool.submit(one.review_all, "first", site) for one in reviewers]
        others = [pool.submit(admin.upload, site, f"later{n}", file) for n, file in enumerate(later)]
        while not all(future.done() for future in reviewing):
            assert lead.ask(site, "GET", "runs/first/export").content.count(b"\n") == 40
            assert int(database.ask(_CONNECTIONS.format(database.name))) <= POOL + 1
        decided = [name for future in reviewing for name in future.result()]
        for future in others:
            admin.wait_for(site, future.result())
    assert len(decided) == len(set(decided)) == Review.objects.count() == 40
    data = lead.ask(site, "GET", "runs/first/export").content
    assert undecided(data) == first != data
    assert [export_data(run=f"later{n}") for n in range(len(later))] == later


@needs_pgbouncer
def test_pages_and_export_jobs_work_through_a_pooler(site: Server) -> None:
    admin = Program("max", "admin", "import")
    [file] = scored(1, 30)
    admin.wait_for(site, admin.upload(site, "evaluations", file))
    run = Run.objects.get()
    lea = Browser(Program("lea", "lead", "read").person)
    assert "Sign out" in lea.log_in(site).text
    for path in (
        "/account/",
        f"/runs/{run.pk}/",
        "/dashboard/",
        f"/runs/{run.pk}/independent-reviews.jsonl",
        "/people/",
    ):
        assert lea.get(site, path).status_code == (403 if path == "/people/" else 200), path
    pages = [lea.export(site, run) for _ in range(3)]
    assert [lea.download(site, page) for page in pages] == [file] * 3


@pytest.mark.parametrize("command", [["migrate"], ["backup", "to.backup"], ["restore", "to.backup"]])
def test_command_that_needs_a_session_refuses_a_pooler(command: list[str], tmp_path: Path) -> None:
    nowhere = "postgresql://cognireview@127.0.0.1:1/cognireview"
    done = manage_py(tmp_path, *command, DATABASE_URL=nowhere, COGNIREVIEW_TRANSACTION_POOLER="true")
    assert done.returncode == 2
    assert done.stderr == (
        f"cognireview: COGNIREVIEW_TRANSACTION_POOLER: `{command[0]}` needs a session. "
        "Run it with the DATABASE_URL of PostgreSQL itself and COGNIREVIEW_TRANSACTION_POOLER=false.\n"
    )


def test_migrations_are_checked_through_a_pooler(tmp_path: Path) -> None:
    nowhere = "postgresql://cognireview@127.0.0.1:1/cognireview"
    done = manage_py(
        tmp_path, "migrate", "--check", DATABASE_URL=nowhere, COGNIREVIEW_TRANSACTION_POOLER="true"
    )
    assert done.returncode == 2
    assert "needs a session" not in done.stderr
    assert "Connection refused" in done.stderr
