"""Stop and restart the database: check the answers during the outage and the time to recovery."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from tests.operations.checking import expect, print_figures
from tests.operations.site import Answer, Site, ask
from tests.support.waiting import eventually

PATHS = ("/login/", "/api/v1/runs", "/readyz", "/healthz")
_SECONDS_TO_ANSWER = 6
_SECONDS_TO_GO_ON = 5


class _Watch:
    """Requests each path four times a second, without waiting for earlier answers."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.answers: list[tuple[float, str, Answer]] = []
        self._until = threading.Event()

    def run(self) -> None:
        with ThreadPoolExecutor(64) as pool:
            while not self._until.wait(0.25):
                for path in PATHS:
                    pool.submit(self._ask, path)

    def _ask(self, path: str) -> None:
        begin = time.monotonic()
        answer = ask(self.port, path, Authorization=f"Bearer {self.token}")
        self.answers.append((begin, path, answer))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._until.set()
        self._thread.join(60)

    def between(self, begin: float, end: float, path: str) -> list[Answer]:
        return [answer for at, asked, answer in self.answers if asked == path and begin <= at < end]

    def last_not_ready(self) -> float:
        return max((at for at, path, answer in self.answers if path != "/healthz" and answer.status != 200))


def check_outage(site: Site, token: str, *, how: str, seconds: float) -> None:
    """Take the database away from a web server and a worker for that many seconds."""
    heartbeat = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > %s"
    with site.web() as (port, web), site.process("work") as worker, _Watch(port, token) as watch:
        expect(eventually(lambda: site.query("SELECT count(*) FROM procrastinate_workers")), "It works.")
        time.sleep(1)
        away_at = time.monotonic()
        site.take_database_away(how=how)
        time.sleep(seconds)
        back_at = time.monotonic()
        site.bring_database_back()
        answers_at = time.monotonic()
        moment = site.query("SELECT now()")
        beats = eventually(lambda: site.query(heartbeat, moment), within=20)
        worker_took = time.monotonic() - answers_at
        time.sleep(3)
        survived = web.is_running and worker.is_running
    went_on = watch.last_not_ready() - answers_at
    # From the loss of the last connection to the start of the database.
    meanwhile = {path: watch.between(away_at + 1, back_at, path) for path in PATHS}
    statuses = {path: dict(Counter(answer.status for answer in found)) for path, found in meanwhile.items()}
    ours = [answer for path in PATHS for answer in watch.between(0, time.monotonic(), path)]
    longest = max(answer.seconds for answer in ours)
    print_figures(
        f"The database {'stopped' if how == 'stop' else 'killed'} for {seconds:g} s",
        [
            *statuses.items(),
            ("of all answers, 500 or none", sum(answer.status in {0, 500} for answer in ours)),
            ("longest answer", f"{longest:.1f} s"),
            ("web goes on", f"{max(went_on, 0):.1f} s after the database answers"),
            ("worker goes on", f"{worker_took:.1f} s after the database answers"),
        ],
    )
    expect(survived, "Web server and worker are the same processes as before.")
    expect(all(found for found in meanwhile.values()), "Every path was asked meanwhile.")
    expect(set(statuses["/healthz"]) == {200}, "The process says that it lives.")
    for path in PATHS[:3]:
        expect(set(statuses[path]) == {503}, f"{path} is answered with 503 and nothing else.")
    expect(all(answer.status in {200, 503} for answer in ours), "No answer is 500, and none is missing.")
    expect(longest < _SECONDS_TO_ANSWER, "Nobody waits for long.")
    late = [answer for answer in meanwhile["/api/v1/runs"] if answer.status == 503]
    expect(all(_is_problem(answer) for answer in late), "Programs get a problem and when to try again.")
    expect(went_on < _SECONDS_TO_GO_ON, "The site goes on within 5 s.")
    expect(beats, "The worker goes on.")
    expect(worker_took < _SECONDS_TO_GO_ON, "The worker goes on within 5 s.")


def _is_problem(answer: Answer) -> bool:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return headers["content-type"] == "application/problem+json" and headers["retry-after"].isdigit()
