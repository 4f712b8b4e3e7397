"""Run the same work with another tool and with ours in turns, and print the ratios.

Both run at the same time on the same machine, and the one that is not measured is idle.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from tests.benchmarks import dataset
from tests.benchmarks.label_studio import label_studio
from tests.benchmarks.serving import REVIEWERS, Tool, our_site

TOOLS: dict[str, Callable[[Path], AbstractContextManager[Tool]]] = {"label-studio": label_studio}
RECORDS = 10_000
ROUNDS = 3
STEPS, STEPS_TOGETHER, LISTS = 30, 8, 10  # in a round; those of eight are of each reviewer
REST_SECONDS = 120


@dataclass(frozen=True)
class Cost:
    """Milliseconds of waiting and of CPU time for one piece of work."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """The same work with both tools."""

    name: str
    theirs: Cost
    ours: Cost

    def __str__(self) -> str:
        wall, cpu = self.theirs.wall / self.ours.wall, self.theirs.cpu / max(self.ours.cpu, 0.01)
        figures = [self.theirs.wall, self.ours.wall, self.theirs.cpu, self.ours.cpu]
        columns = [f"{wall:.1f}", f"{cpu:.1f}", *(f"{figure:,.1f}" for figure in figures)]
        return f"| {self.name} | {' | '.join(columns)} |"


def compare(folder: Path, name: str, scale: float) -> Iterator[str]:
    """Yield the lines of the table, as they are measured."""
    records = max(int(RECORDS * scale), 200)
    file = dataset.write(folder / "records.jsonl", records)
    with TOOLS[name](folder / "theirs") as theirs, our_site(folder / "ours") as ours:
        columns = (f"{records:,} records", "ratio", "of CPU time", theirs.name, ours.name, "CPU time", "ours")
        yield f"| {' | '.join(columns)} |"
        yield "|---" * len(columns) + "|"
        tools = (theirs, ours)
        yield str(_once("import until searches are complete", tools, lambda tool: tool.prepare_import(file)))
        yield str(_turns("get the next record and decide it, one user", tools, _one_reviews, STEPS))
        together = STEPS_TOGETHER * REVIEWERS
        yield str(_turns(f"the same, {REVIEWERS} users, per decision", tools, _all_review, together))
        yield str(_turns("submit in the browser, and the next record", tools, _submits, STEPS))
        yield str(_turns("list of 50 records", tools, _read_lists, LISTS))
        yield str(_turns("page with 50 records", tools, _read_pages, LISTS))
        yield str(_once("export", tools, lambda tool: tool.export))
        yield _memory("memory of all processes (MiB)", tools)
        time.sleep(REST_SECONDS)
        yield _memory(f"the same, {REST_SECONDS} seconds later", tools)


def _once(name: str, tools: tuple[Tool, Tool], prepare: Callable[[Tool], Callable[[], object]]) -> Row:
    theirs, ours = (_measure(tool, prepare(tool), 1) for tool in tools)
    return Row(name, theirs, ours)


def _memory(name: str, tools: tuple[Tool, Tool]) -> str:
    theirs, ours = (tool.memory() for tool in tools)
    return f"| {name} | {theirs / ours:.1f} | | {theirs:.0f} | {ours:.0f} | | |"


def _turns(name: str, tools: tuple[Tool, Tool], work: Callable[[Tool], object], steps: int) -> Row:
    """Measure in turns, after one unmeasured round, and take the medians."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    for number in range(ROUNDS + 1):
        for tool, found in zip(tools, costs, strict=True):
            cost = _measure(tool, partial(work, tool), steps)
            if number:
                found.append(cost)
    theirs, ours = (
        Cost(median(cost.wall for cost in found), median(cost.cpu for cost in found)) for found in costs
    )
    return Row(name, theirs, ours)


def _measure(tool: Tool, work: Callable[[], object], steps: int) -> Cost:
    """Return the cost of one of `steps` equal pieces of work."""
    cpu, begin = tool.cpu_seconds(), time.perf_counter()
    work()
    wall = time.perf_counter() - begin
    return Cost(wall / steps * 1000, (tool.cpu_seconds() - cpu) / steps * 1000)


def _one_reviews(tool: Tool) -> None:
    for _ in range(STEPS):
        tool.review(0)


def _submits(tool: Tool) -> None:
    for _ in range(STEPS):
        tool.submit()


def _all_review(tool: Tool) -> None:
    def review(user: int) -> None:
        for _ in range(STEPS_TOGETHER):
            tool.review(user)

    with ThreadPoolExecutor(REVIEWERS) as pool:
        list(pool.map(review, range(REVIEWERS)))


def _read_lists(tool: Tool) -> None:
    for _ in range(LISTS):
        tool.read_list()


def _read_pages(tool: Tool) -> None:
    for _ in range(LISTS):
        tool.read_page()
