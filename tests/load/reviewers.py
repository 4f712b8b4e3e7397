"""Review over the API during a large import: no request fails, nothing is lost or done twice."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from reviews.models import UnindexedImport
from tests.load import files, imports, invariants, recounts
from tests.load.bringing import Bringing
from tests.load.client import Client, Times
from tests.load.people import team, token_of
from tests.load.reviewing import Accepted
from tests.load.site import Site, wait_until

RUN, OTHER_RUN = "reviewed", "alone"
# The share of the records that are imported before the large file.
SHARE_TO_REVIEW = 0.2
LEAST_TO_REVIEW = 300
# How long reviewers work before the upload of the large file.
SECONDS_BEFORE = 2
SECONDS_TO_INDEX = 600


class Options(NamedTuple):
    """The options of the command line."""

    records: int
    reviewers: int
    kills: int
    pause: float
    seed: int


class Measured(NamedTuple):
    """An import's number of records, the seconds of its upload, and the seconds from then to its end."""

    records: int
    sent_in: float
    imported_in: float

    def __str__(self) -> str:
        rate = self.records / self.imported_in
        return f"{self.records:,} records sent in {self.sent_in:.1f} s, imported at {rate:,.0f} a second"


class Load:
    """A run of the test on a site that is ready."""

    def __init__(self, site: Site, folder: Path, options: Options) -> None:
        self._options = options
        self._times, self._file_times = Times(), Times()
        chance = random.Random(options.seed)
        to_review = max(int(options.records * SHARE_TO_REVIEW), LEAST_TO_REVIEW)
        whole = files.write(folder / "records.jsonl", to_review + options.records, seed=options.seed)
        self._files = files.cut(whole, [to_review, options.records])
        self._alone = files.write(folder / "alone.jsonl", options.records, seed=options.seed + 1)
        admin = Client(
            site.port, token_of("max", "admin", "import", "export", "read"), self._file_times, chance
        )
        self._bringing, self._admin = Bringing(admin, RUN), admin
        self._reviewers = team(site.port, RUN, options.reviewers, self._times, chance)
        self._exported = folder / "exported.jsonl"

    def work(self) -> Iterator[str]:
        """Run the test, print its figures and yield the problems."""
        alone = self._import_alone()
        self._bringing.bring(self._files[0])
        wait_until(_is_indexed, SECONDS_TO_INDEX, "all records can be found")
        begin = time.monotonic()
        during = self._import_during_reviews()
        seconds = time.monotonic() - begin
        for reviewer in self._reviewers:
            reviewer.end()
        self._print(alone, during, seconds)
        wait_until(_is_indexed, SECONDS_TO_INDEX, "all records can be found")
        with self._exported.open("wb") as file:
            file.writelines(self._admin.download("export", f"runs/{RUN}/export"))
        yield from self._went_wrong()

    def _import_alone(self) -> Measured:
        measured = self._measure(Bringing(self._admin, OTHER_RUN), self._alone)
        wait_until(_is_indexed, SECONDS_TO_INDEX, "all records can be found")
        return measured

    def _import_during_reviews(self) -> Measured:
        stopped = threading.Event()
        with ThreadPoolExecutor(len(self._reviewers)) as pool:
            working = [pool.submit(reviewer.work_until, stopped) for reviewer in self._reviewers]
            try:
                time.sleep(SECONDS_BEFORE)
                measured = self._measure(self._bringing, self._files[1])
            finally:
                stopped.set()
            for one in working:
                one.result()
        return measured

    def _measure(self, bringing: Bringing, file: Path) -> Measured:
        begin = time.monotonic()
        sent = bringing.send(file)
        between = time.monotonic()
        bringing.wait_for(sent, file)
        return Measured(self._options.records, between - begin, time.monotonic() - between)

    @property
    def _accepted(self) -> list[Accepted]:
        return [one for reviewer in self._reviewers for one in reviewer.accepted]

    def _print(self, alone: Measured, during: Measured, seconds: float) -> None:
        count, given_back = len(self._reviewers), sum(one.given_back for one in self._reviewers)
        requests = sum(self._times.statuses.values())
        print(f"without reviewers: {alone}")  # noqa: T201
        print(f"during {count} reviewers: {during}")  # noqa: T201
        for line in self._times.table():
            print(line)  # noqa: T201
        print(  # noqa: T201
            f"{requests:,} requests of reviewers in {seconds:.0f} s, {requests / seconds:.0f} a second: "
            f"{len(self._accepted):,} decisions, {given_back:,} given back"
        )

    def _went_wrong(self) -> Iterator[str]:
        yield from chain(self._bringing.wrong, *(one.wrong for one in self._reviewers))
        yield from (why for times in (self._times, self._file_times) for _, why in times.interrupted)
        refused = sum(one.refused for one in self._reviewers)
        if refused:
            yield f"{refused} decisions were refused, on records that nobody else had"
        if not all(one.accepted for one in self._reviewers):
            yield "a reviewer has decided nothing"

    def check(self) -> Iterator[str]:
        """Check the stopped site and yield the problems."""
        yield from invariants.check_export(self._files, self._exported, self._accepted)
        yield from after(self._accepted, [*self._files, self._alone], once=True)


def after(accepted: list[Accepted], brought: list[Path], *, once: bool) -> Iterator[str]:
    """Check all invariants in one snapshot of the database."""
    with imports.snapshot():
        yield from invariants.check_decisions(accepted, once=once)
        yield from imports.check_imports(brought)
        yield from invariants.check_claims()
        yield from invariants.check_jobs()
        yield from invariants.check_audit_log()
        yield from recounts.check_counts()


def _is_indexed() -> bool:
    return not UnindexedImport.objects.exists()
