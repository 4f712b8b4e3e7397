"""Two web servers and two workers on one database behave like one of each."""

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from reviews.models import Import, Review, Run
from tests.growth.programs import Browser, Program, scored, undecided
from tests.support import servers
from tests.support.lines import export_data
from tests.support.servers import Place, Server
from tests.support.waiting import eventually

RECORDS = 30
JOBS = ("import_upload", "build_export")
OPEN_TRANSACTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type = 'client backend' AND xact_start IS NOT NULL
"""


class Servers(NamedTuple):
    """Web servers and workers."""

    sites: list[Server]
    workers: list[Server]


@pytest.fixture
def two(database: Place, folder: Path) -> Iterator[Servers]:
    unblinded = {"COGNIREVIEW_BLIND_SHARE": "0"}

    def start(kind: str, number: int) -> Server:
        begin = servers.web if kind == "web" else servers.worker
        return running.enter_context(begin(database.url, folder, f"{kind}{number}", **unblinded))

    with ExitStack() as running, ThreadPoolExecutor(4) as pool:
        starting = [pool.submit(start, kind, number) for kind in ("web", "worker") for number in range(2)]
        started = [future.result() for future in starting]
        yield Servers(started[:2], started[2:])
        for server in started:
            assert "Traceback" not in server.process.output()


def test_reviewers_and_jobs_on_both_decide_each_record_once(two: Servers) -> None:
    admin, lead = Program("max", "admin", "import"), Program("lea", "lead", "export")
    files = scored(2, RECORDS)
    imports = [admin.upload(two.sites[n % 2], f"run{n}", file) for n, file in enumerate(files)]
    for number in imports:
        admin.wait_for(two.sites[1 - number % 2], number)
    people = [Program(f"reviewer{number}", "reviewer", "review", "read") for number in range(6)]
    with ThreadPoolExecutor(len(people)) as pool:
        reviewing = [
            pool.submit(person.review_all, "run0", *(two.sites if number % 2 else two.sites[::-1]))
            for number, person in enumerate(people)
        ]
        decided = Counter(name for future in reviewing for name in future.result())
    assert (len(decided), set(decided.values())) == (RECORDS, {1})
    assert Review.objects.count() == RECORDS
    exported = [lead.ask(site, "GET", "runs/run0/export").content for site in two.sites]
    assert exported[0] == exported[1]
    assert undecided(exported[0]) == files[0] != exported[0]


def test_jobs_of_both_workers_run_once(two: Servers) -> None:
    admin, lea = Program("max", "admin", "import"), Browser(Program("lea", "lead", "read").person)
    files = scored(4, RECORDS)
    for number, file in enumerate(files):
        admin.upload(two.sites[number % 2], f"run{number}", file)
    lea.log_in(two.sites[0])
    assert eventually(lambda: not Import.objects.exclude(state=Import.State.DONE).exists())
    runs = list(Run.objects.order_by("name"))
    pages = [lea.export(two.sites[run.pk % 2], run) for run in runs]
    # The web server that sends an export is not the one that ordered it.
    sent = [lea.download(two.sites[1 - run.pk % 2], page) for run, page in zip(runs, pages, strict=True)]
    assert sent == [export_data(run=run.name) for run in runs] == files
    for job in JOBS:
        assert sum(started(worker, job) for worker in two.workers) == len(files)


def test_each_worker_imports_and_exports_while_the_other_is_paused(two: Servers, database: Place) -> None:
    admin, lea = Program("max", "admin", "import"), Browser(Program("lea", "lead", "read").person)
    lea.log_in(two.sites[0])
    for number, file in enumerate(scored(2, RECORDS)):
        site, other_site = two.sites[number], two.sites[1 - number]
        with paused(two.workers[1 - number], database):
            admin.wait_for(site, admin.upload(site, f"run{number}", file))
            page = lea.export(site, Run.objects.get(name=f"run{number}"))
            assert lea.download(other_site, page) == file
    for job in JOBS:
        assert [started(worker, job) for worker in two.workers] == [1, 1]


def started(worker: Server, job: str) -> int:
    """Count the jobs of this kind that a worker has started."""
    return worker.process.output().count(f"Starting job reviews.tasks.{job}")


@contextmanager
def paused(worker: Server, database: Place) -> Iterator[None]:
    """Pause a worker between two transactions, so that it keeps no lock from the other worker."""

    def pauses() -> bool:
        worker.process.signal(signal.SIGSTOP)
        if database.ask(OPEN_TRANSACTIONS) == 0:
            return True
        worker.process.signal(signal.SIGCONT)
        return False

    assert eventually(pauses)
    yield
    worker.process.signal(signal.SIGCONT)


def test_login_logout_and_lockout_apply_to_both_web_servers(two: Servers) -> None:
    one, other = two.sites
    ana = Browser(Program("ana", "reviewer", "read").person)
    assert "Sign out" in ana.log_in(one).text
    assert ana.get(other, "/account/").url.endswith("/account/")
    ana.post(other, "/logout/")
    assert "/login/" in ana.get(one, "/account/").url
    for attempt in range(5):
        ana.log_in(two.sites[attempt % 2], password="not the password")
    for site in two.sites:
        assert "Too many failed logins. Try again at" in ana.log_in(site).text
