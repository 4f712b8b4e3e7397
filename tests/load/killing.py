"""Kill worker, web server and database equally often at random moments, and record each kill."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

import psutil

from tests.load.client import Times
from tests.load.site import Broken, Site

WEB, WORKER, DATABASE = "web", "worker", "database"
# The shortest pause as a share of the longest: shorter than some restarts take, longer than others.
LEAST_PAUSE = 0.25
SECONDS_TO_BE_THERE = 120


@dataclass(frozen=True)
class Kill:
    """Time (`time.monotonic`), target and killed processes: all of them, the first or another one."""

    at: float
    target: str
    what: str


@dataclass
class Killer:
    """Kills each target `times` times, in random order, at most `pause` seconds apart."""

    targets: ClassVar[tuple[str, ...]] = (WEB, WORKER, DATABASE)
    # Requests may fail for this long after a kill of any target except the worker.
    seconds_to_recover: ClassVar[float] = 30

    site: Site
    times: int
    pause: float
    chance: random.Random
    # Called after each kill; the site may be unavailable.
    look: Callable[[], None]
    kills: list[Kill] = field(default_factory=list)

    def run(self) -> None:
        """Kill all targets in turn. Raises `Broken` if one does not come back."""
        for target in self._targets():
            time.sleep(self.chance.uniform(LEAST_PAUSE, 1) * self.pause)
            self._kill(target)
            self.look()

    def _targets(self) -> Iterator[str]:
        for _ in range(self.times):
            yield from self.chance.sample(self.targets, len(self.targets))

    def _kill(self, target: str) -> None:
        end = time.monotonic() + SECONDS_TO_BE_THERE
        while time.monotonic() < end:
            self.site.check_runs()
            with suppress(psutil.NoSuchProcess):
                at = time.monotonic()
                what = self._killed(target)
                if what:
                    self.kills.append(Kill(at, target, what))
                    return
            time.sleep(0.05)
        raise Broken(f"the {target} does not come back within {SECONDS_TO_BE_THERE} seconds")

    def _killed(self, target: str) -> str:
        """Kill processes of a target. Return which ones, or an empty string if the target is not running."""
        first = self.site.postmaster() if target == DATABASE else self.site.child(target)
        # A database that still recovers from the last kill does not count as running.
        if first is None or (target == DATABASE and not self.site.database_answers()):
            return ""
        below = first.children(recursive=True)
        ways = [("the first process", [first])]
        # The worker's child only parses; the worker itself finishes the job of a killed one.
        if below and target != WORKER:
            ways += [("all its processes", [first, *below]), ("one below", [self.chance.choice(below)])]
        what, processes = self.chance.choice(ways)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        return what

    def report(self, times: Times) -> Iterator[str]:
        """Yield a row for each target: number of kills, and how long requests failed afterwards."""
        yield f"{'killed':10} {'times':>6} {'requests failed for (median, longest)':>40}"
        for target in self.targets:
            spans = [span for kill, span in self._spans(times) if kill.target == target]
            yield f"{target:10} {len(spans):6} {median(spans or [0]):34.1f} {max(spans, default=0):5.1f} s"

    def unexplained(self, times: Times) -> Iterator[str]:
        """Yield requests that failed without a recent kill of another target than the worker."""
        harmful = [kill.at for kill in self.kills if kill.target != WORKER]
        for at, why in times.interrupted:
            if not any(0 <= at - killed <= self.seconds_to_recover for killed in harmful):
                yield f"without a kill before: {why}"

    def _spans(self, times: Times) -> Iterator[tuple[Kill, float]]:
        """Yield each kill with the seconds to the last request that failed before the next kill."""
        ends = [kill.at for kill in self.kills[1:]] + [float("inf")]
        for kill, end in zip(self.kills, ends, strict=True):
            failed = [at - kill.at for at, _ in times.interrupted if kill.at <= at < end]
            yield kill, max(failed, default=0.0)
