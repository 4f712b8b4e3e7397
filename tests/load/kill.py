"""Kill worker, web server and database during reviews, imports and exports."""

import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count
from pathlib import Path

from django.db.models import Sum
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews.database import held_transaction
from reviews.models import Export, Import, UnindexedImport
from tests.load import files, imports
from tests.load.bringing import Bringing
from tests.load.client import Client, GaveUp, Times
from tests.load.exporting import Exporting, patiently
from tests.load.invariants import PERIODIC
from tests.load.killing import Killer
from tests.load.people import team, token_of
from tests.load.reviewers import Options, after
from tests.load.reviewing import Accepted
from tests.load.site import Broken, Site, wait_until

RUN = "killed"
# The share of the records that exist before the first kill.
SHARE_TO_REVIEW = 0.2
LARGEST_FILE = 4_000
SECONDS_TO_BE_QUIET = 240
# The share of repeated files, and among them the share with new evidence and other decisions.
AGAIN, REVISED = 0.4, 0.5
# Exceptions that processes raise when they, or their peers, are killed.
_EXPECTED = {
    "OperationalError",
    "InterfaceError",
    "AdminShutdown",
    "PoolTimeout",
    "PoolClosed",
    "ConnectorException",
}
# The handled exceptions of a chained traceback, to be removed; only the last one was raised.
_CHAINED = re.compile(
    r"^Traceback .*\n(?:(?!\d{4}-\d\d-\d\d ).*\n)*?\n(?:During handling of|The above exception was) .*\n",
    re.MULTILINE,
)
_RAISED = re.compile(r"^(?:[a-z_]\w*\.)+([A-Z]\w*)\b.*", re.MULTILINE)


class Load:
    """A run of the test on a site that is ready."""

    def __init__(
        self, site: Site, folder: Path, options: Options, killer: Callable[..., Killer] = Killer
    ) -> None:
        self._site, self._folder = site, folder
        self._times = Times()
        self._chance = random.Random(options.seed)
        self._waiting = self._files(options.records, options.seed)
        self._brought: list[Path] = []
        token = token_of("max", "admin", "import", "export", "read")
        admin = Client(site.port, token, self._times, self._chance)
        self._bringing = Bringing(admin, RUN)
        self._exporting = Exporting(admin, RUN, random.Random(options.seed))
        self._reviewers = team(site.port, RUN, options.reviewers, self._times, self._chance)
        self._killer = killer(site, options.kills, options.pause, random.Random(options.seed), self._look)
        self._wrong: list[str] = []

    def _files(self, records: int, seed: int) -> list[Path]:
        """Create the initial file and further files of very different lengths."""
        sizes = [max(int(records * SHARE_TO_REVIEW), 1)]
        while left := records - sum(sizes):
            sizes.append(min(left, self._chance.randint(1, LARGEST_FILE)))
        return files.cut(files.write(self._folder / "records.jsonl", records, seed=seed), sizes)

    def work(self) -> Iterator[str]:
        """Run the test, print its figures and yield the problems."""
        self._bring(self._waiting.pop(0))
        stopped = threading.Event()
        with ThreadPoolExecutor(len(self._reviewers) + 2) as pool:
            working = [pool.submit(one.work_until, stopped) for one in self._reviewers]
            working += [
                pool.submit(work, stopped) for work in (self._exporting.work_until, self._bring_until)
            ]
            try:
                self._killer.run()
            except Broken as error:
                self._wrong.append(str(error))
            finally:
                stopped.set()
            for one in working:
                one.result()
        self._site.check_runs()
        # The last kill may have hit the database.
        wait_until(lambda: patiently(_is_quiet), SECONDS_TO_BE_QUIET, "all jobs are done")
        for reviewer in self._reviewers:
            reviewer.end()
        self._print()
        wrong = (one.wrong for one in self._reviewers)
        yield from chain(self._wrong, self._bringing.wrong, self._exporting.wrong, *wrong)
        yield from self._killer.unexplained(self._times)
        yield from self._logged()

    def check(self) -> Iterator[str]:
        """Check the stopped site and yield the problems."""
        for outcome in ("updated", "conflicts") if self._accepted else ("updated",):
            if not Import.objects.filter(**{f"{outcome}__gt": 0}).exists():
                yield f"no line of any file has the outcome {outcome!r}: nothing was tested of it"
        yield from self._exporting.problems(self._brought, self._folder)
        yield from after(self._accepted, self._brought, once=False)

    def _bring(self, file: Path) -> None:
        self._brought.append(file)
        self._bringing.bring(file)

    def _bring_until(self, stopped: threading.Event) -> None:
        """Upload files one after another, sometimes an earlier file with changed lines."""
        try:
            for number in count():
                if stopped.wait(self._chance.uniform(0, 2)):
                    break
                again = not self._waiting or (self._brought[1:] and self._chance.random() < AGAIN)
                self._bring(self._again(number) if again else self._waiting.pop(0))
            # After the last decision: even with few kills, some lines are updates and some are conflicts.
            self._bring(self._revised(self._brought[0], "last", lines=None))
        except GaveUp as error:
            self._wrong.append(str(error))

    def _again(self, number: int) -> Path:
        if self._chance.random() < REVISED:
            lines = self._chance.randint(1, LARGEST_FILE)
            return self._revised(self._chance.choice(self._brought), str(number), lines=lines)
        # The first file takes long to upload.
        before = self._chance.choice(self._brought[1:] or self._brought)
        return files.spoil(before, before.with_name(f"again-{number}.jsonl"), self._chance)

    def _revised(self, before: Path, number: str, *, lines: int | None) -> Path:
        decided = {one.evaluation_id for one in self._accepted}
        path = before.with_name(f"revised-{number}.jsonl")
        return files.revise(before, path, lines_taken=lines, decided=decided, chance=self._chance)

    def _look(self) -> None:
        """Check that no import is partly visible after a kill, as soon as the database is available."""
        self._wrong += patiently(lambda: list(imports.half_imports()))

    def _logged(self) -> Iterator[str]:
        """Yield logged errors that an unavailable database does not explain."""
        for name in ("web", "worker"):
            for raised in _RAISED.finditer(_CHAINED.sub("", self._site.log(name))):
                if raised[1] not in _EXPECTED:
                    yield f"in {name}.log: {raised[0][:300]}"
            if held_transaction.NOT_CLOSED in self._site.log(name):
                yield f"in {name}.log: {held_transaction.NOT_CLOSED}"

    @property
    def _accepted(self) -> list[Accepted]:
        return [one for reviewer in self._reviewers for one in reviewer.accepted]

    def _print(self) -> None:
        for line in chain(self._killer.report(self._times), self._times.table()):
            print(line)  # noqa: T201
        refused = sum(one.refused for one in self._reviewers)
        print(  # noqa: T201
            f"{len(self._accepted):,} decisions, {refused:,} refused, {len(self._times.interrupted):,} "
            f"requests failed; {len(self._brought):,} files with {_outcomes()}; "
            f"{len(self._exporting.streamed):,} exports streamed, {self._exporting.broken_off:,} broken off, "
            f"{Export.objects.count():,} built"
        )


def _outcomes() -> str:
    """Count the lines of the files by outcome."""
    sums = Import.objects.aggregate(**{name: Sum(name) for name in Import.OUTCOMES})
    return ", ".join(f"{count:,} {name}" for name, count in sums.items())


def _is_quiet() -> bool:
    """Whether no import, export or related job is left."""
    return not (
        Import.objects.filter(state__in=Import.UNFINISHED).exists()
        or Export.objects.filter(state=Export.State.UNFINISHED).exists()
        or UnindexedImport.objects.exists()
        or ProcrastinateJob.objects.exclude(task_name__in=PERIODIC)
        .filter(status__in=("todo", "doing"))
        .exists()
    )
