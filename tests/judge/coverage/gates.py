"""Print how often a gate is wrong that is asked again and again: `python -m tests.judge.coverage.gates`.

The judge is exactly at the limit. The gate is wrong if it passes the judge at any time, or calls it worse.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.judge.sequences import figure_sequence, share_of_columns
from reviews.statistics import clusters, coefficients
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.strata import IntArray
from tests.judge.coverage.ratings import (
    BALANCED,
    PREVALENT,
    Drawn,
    Generator,
    Pairs,
    Run,
    confusion,
    draw_like_neighbours,
)

#: An estimate with its interval, and the same with its confidence sequence.
Answer = tuple[Estimate, Estimate]
Order = Literal["by task", "at random", "flagged first"]


@dataclass(frozen=True)
class Gate:
    """A gate that is asked after every few ratings."""

    name: str
    limit: float
    #: Simulates a run and yields an answer for each time that the gate is asked.
    ask: Callable[[Generator], Iterator[Answer]]


@dataclass(frozen=True)
class Wrong:
    """The share of simulated runs in which a gate is ever wrong."""

    passed: float
    worse: float


def gates() -> Iterator[Gate]:
    for figure in ("accuracy", "false_pass", "leniency", "kappa", "ac1"):
        yield of_pairs(figure, BALANCED, each=1)
        yield of_pairs(figure, BALANCED, each=5)
    yield of_pairs("kappa", PREVALENT, each=5, setting="one frequent score, 5 ratings a task")
    yield of_run("by task")
    yield of_run("at random")
    yield of_run("flagged first")


def of_pairs(figure: str, population: Pairs, *, each: int, n: int = 400, setting: str = "") -> Gate:
    """Ask after every 20 of `n` ratings, `each` of them in a task."""
    compute = getattr(coefficients, figure)
    task = np.arange(n) // each

    def ask(rng: Generator) -> Iterator[Answer]:
        drawn = draw_like_neighbours(rng, population.shares.ravel(), task, 0.7 if each > 1 else 0.0)
        for seen in range(20, n + 1, 20):
            found = confusion(drawn[:seen], task[:seen], population)
            estimate = compute(found)
            yield estimate, figure_sequence(figure, estimate, found)

    exact = np.repeat(
        np.arange(population.shares.size), np.round(population.shares.ravel() * 20_000).astype(int)
    )
    truth = compute(confusion(exact, np.arange(len(exact)) % 60_000, population)).value
    independent = "independent ratings" if each == 1 else f"{each} ratings a task"
    return Gate(f"{figure}: {setting or independent}", truth, ask)


def of_run(order: Order, run: Run | None = None) -> Gate:
    """Ask for the accuracy of a whole run after every 30 of its ratings."""
    run = run or Run(reviewed=(0.8, 0.3))

    def ask(rng: Generator) -> Iterator[Answer]:
        drawn = run.draw(rng)
        places = _in_order(order, drawn, rng)
        for seen in range(30, len(places) + 1, 30):
            yield from _of_run(drawn, places[:seen])

    return Gate(f"accuracy of the run: reviewed {order}", run.accuracy, ask)


def _in_order(order: Order, drawn: Drawn, rng: Generator) -> IntArray:
    places = rng.permutation(len(drawn.sample.cell))
    if order == "by task":
        return places[np.argsort(drawn.sample.cluster[places], kind="stable")]
    if order == "flagged first":
        return places[np.argsort(1 - drawn.values["flag"][places], kind="stable")]
    return places


def _of_run(drawn: Drawn, seen: IntArray) -> Iterator[Answer]:
    """Yield the answer from the ratings so far, once flagged and unflagged records have some."""
    flag = drawn.values["flag"][seen]
    if flag.any() and not flag.all():
        sample = drawn.sample
        ratings = Sample(sample.cell[seen], sample.cluster[seen], sample.weight[seen])
        right = drawn.values["judge"][seen] == drawn.values["human"][seen]
        columns = np.column_stack([right, np.ones(len(seen))])
        is_flagged = [int(path[0]) for path in drawn.population.paths]
        totals = cluster_totals(ratings, columns, drawn.population, is_flagged)
        [estimate] = clusters.stratified_ratios(totals, [[(0, 1), (2, 3)]])
        yield estimate, share_of_columns(estimate, totals, (0, 2), (1, 3))


def measure(gate: Gate, replications: int, seed: int) -> tuple[Wrong, Wrong]:
    """Return how often the gate is wrong with intervals, and with confidence sequences."""
    wrong = np.zeros((2, 2))
    for rng in np.random.default_rng(seed).spawn(replications):
        ever = np.zeros((2, 2), dtype=np.bool_)
        for answer in gate.ask(rng):
            ever |= [_is_wrong(estimate, gate.limit) for estimate in answer]
        wrong += ever
    interval, sequence = (Wrong(*map(float, counts / replications)) for counts in wrong)
    return interval, sequence


def _is_wrong(estimate: Estimate, limit: float) -> tuple[bool, bool]:
    if estimate.low is None or estimate.high is None:
        return False, False
    return estimate.low > limit, estimate.high < limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write = partial(print, flush=True)
    write("| Gate | Intervals: passed, worse | Sequences: passed, worse |\n|---|---|---|")
    for gate in gates():
        found = measure(gate, options.replications, options.seed)
        cells = " | ".join(f"{one.passed:.1%}, {one.worse:.1%}" for one in found)
        write(f"| {gate.name} | {cells} |")


if __name__ == "__main__":
    main()
