"""Measure pages of a run with 1,000,000 records against those of a run with 10,000, in turn."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import psutil
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from reviews.database.statements import execute
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from tests.benchmarks import database
from tests.benchmarks.measuring import ROUNDS, Figure
from tests.support.pages import HTMX, form_of
from tests.support.sessions import log_in

SMALL, LARGE = 10_000, 1_000_000
SMALL_DATABASE = "benchmark_small"
MOST = 1.3
REQUESTS = 20  # of each size and round
# Each submit takes a record, and a third of the records are in the queue.
LEAST = 4 * ROUNDS * (REQUESTS + 1)
REVIEWER = "reviewer"
_NOTHING = "zebra"

Request = Callable[[], object]


class Cost(NamedTuple):
    """Milliseconds of a request: CPU time of the web process and PostgreSQL, and time until the answer."""

    cpu: float
    wall: float


class Site:
    """The pages of a run, for a lead and a reviewer."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lead, self._reviewer = _client("lead"), _client(REVIEWER)

    def requests(self) -> dict[str, Request]:
        """Return the measured requests by name."""
        last = self._run.evaluations.order_by("-first_line").values_list("evaluation_id", flat=True)[0]
        place = [self._run.imports.get().pk, self._run.evaluations.count() // 2]
        lists = {
            "list": {},
            "list, a page in the middle": {"after": json.dumps(place)},
            "filter by status": {"status": "waiting"},
            "filter by model": {"model": "model-a"},
            "filter by score": {"score": "Rigor=No"},
            "filters by model and verdict": {"model": "model-a", "verdict": "Fail"},
            "filters by model and score": {"model": "model-a", "score": "Rigor=No"},
            "filters by verdict and status": {"verdict": "Fail", "status": "waiting"},
            "filter that matches nothing": {"model": _NOTHING},
            "search for an id": {"q": last},
            "search for a word of all records": {"q": "the"},
            "search for words of a third": {"q": "model-a"},
            "search for a word, with a model": {"q": "compact", "model": "model-a"},
            "search that finds nothing": {"q": _NOTHING},
        }
        list_path = reverse("run", args=[self._run.pk])
        pages = {name: f"{list_path}?{urlencode(query)}" for name, query in lists.items()}
        pages |= {"home page": reverse("runs"), "dashboard": reverse("dashboard")}
        pages |= {
            f"{name} of the judge": reverse(place, args=[self._run.pk])
            for name, place in {"overview": "judge", "report": "judge-report"}.items()
        }
        requests: dict[str, Request] = {
            name: partial(self._show, self._lead, path) for name, path in pages.items()
        }
        requests["queue"] = partial(self._show, self._reviewer, reverse("review", args=[self._run.pk]))
        return requests | {"submit and next record": self._submit}

    def _show(self, person: Client, path: str) -> None:
        answer = person.get(path)
        assert answer.status_code == HTTPStatus.OK, (path, answer.status_code)

    def _submit(self) -> None:
        """Decide the record on the reviewer's screen, which then shows the next one."""
        claimed = Evaluation.objects.filter(claimed_by__username=REVIEWER, claim_is_prefetched=False)
        record = claimed.first() or self._claim()
        answer = self._reviewer.post(reverse("submit", args=[record.pk]), form_of(record), headers=HTMX)
        assert answer.status_code == HTTPStatus.OK, answer.content[-500:]

    def _claim(self) -> Evaluation:
        """Claim the first record, without a blind share, so a decision is one request."""
        Run.objects.filter(pk=self._run.pk).update(blind_share=0)
        run, reviewer = Run.objects.get(pk=self._run.pk), User.objects.get(username=REVIEWER)
        claimed = claims.claim_next(run=run, reviewer=reviewer)
        assert claimed
        return claimed


def _client(role: str) -> Client:
    user, _ = User.objects.get_or_create(username=role)
    user.groups.add(Group.objects.get(name=role))
    client = Client(SERVER_NAME="localhost")
    log_in(client, user)
    return client


def pages(small: Path, large: Path) -> Iterator[Figure]:
    """Import both files, each into a database of its own, and compare each page."""
    usual = settings.DATABASES["default"]["NAME"]
    database.empty()
    database.import_path(small)
    execute("VACUUM ANALYZE")
    database.copy_database(SMALL_DATABASE)
    database.empty()
    database.import_path(large)
    execute("VACUUM ANALYZE")
    yield from compare(SMALL_DATABASE, usual)
    database.drop_database(SMALL_DATABASE)


def compare(small: str, large: str) -> Iterator[Figure]:
    """Compare each page of the only run of a large database with that of a small one."""
    logging.disable(logging.INFO)
    call_command("collectstatic", interactive=False, verbosity=0)
    requests: dict[str, dict[str, Request]] = {}
    for name in (small, large):
        with database.using(name):
            requests[name] = Site(Run.objects.get()).requests()
    for page in requests[small]:
        costs: dict[str, list[Cost]] = {small: [], large: []}
        for _ in range(ROUNDS):
            for name, taken in costs.items():
                with database.using(name):
                    taken.append(_cost(requests[name][page]))
        yield _figure(page, min(costs[small]), min(costs[large]))


def _cost(request: Request) -> Cost:
    """Measure a request on a connection that has answered it before."""
    request()
    backend = psutil.Process(connection.connection.info.backend_pid)
    start, cpu = time.perf_counter(), _seconds(backend)
    for _ in range(REQUESTS):
        request()
    wall = time.perf_counter() - start
    return Cost((_seconds(backend) - cpu) / REQUESTS * 1000, wall / REQUESTS * 1000)


def _seconds(backend: psutil.Process) -> float:
    times = backend.cpu_times()
    return time.process_time() + times.user + times.system


def _figure(page: str, small: Cost, large: Cost) -> Figure:
    return Figure(
        f"{page} (time: {large.wall / small.wall:.2f})",
        f"{large.cpu:.1f} ms",
        f"{small.cpu:.1f} ms",
        large.cpu / small.cpu,
        most=MOST,
    )
