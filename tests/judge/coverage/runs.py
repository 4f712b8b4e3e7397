"""Estimate the figures of simulated runs, as the program does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cognireview.types.estimates import Estimate
from reviews.statistics import clusters, coefficients
from reviews.statistics.balance import balance
from reviews.statistics.coefficients import Confusion
from reviews.statistics.extrapolation import cluster_totals
from reviews.statistics.sums import FloatArray
from reviews.statistics.totals import ClusterTotals
from tests.judge.coverage.ratings import VERDICTS, Drawn, Generator, Run

# Columns of `_verdicts_by_flag`: pairs of verdicts of flagged records, then of unflagged ones.
_FLAGGED, _FLAGGED_WRONG, _UNFLAGGED, _UNFLAGGED_WRONG = (0, 1, 2, 3), (1, 2), (4, 5, 6, 7), (5, 6)


def _verdicts_by_flag(drawn: Drawn) -> ClusterTotals:
    """Add up the pairs of verdicts, as `RatedRun.verdicts_by_flag` does."""
    pairs = np.eye(4)[drawn.values["judge"] * 2 + drawn.values["human"]]
    domains = [1 - int(path[0]) for path in drawn.population.paths]
    return cluster_totals(drawn.sample, pairs, drawn.population, domains)


def run_confusion(run: Run, rng: Generator) -> Confusion:
    """Return the pairs of verdicts of a simulated run, with its flagged and unflagged records."""
    totals = _verdicts_by_flag(run.draw(rng))
    parts = tuple(Confusion(VERDICTS, totals, start) for start in (4, 0))
    return replace(Confusion(VERDICTS, totals.join_domains(4)), strata=parts)


def of_run(compute: Callable[[Confusion], Estimate], run: Run, rng: Generator) -> Estimate:
    return compute(run_confusion(run, rng))


def accuracy(run: Run, rng: Generator) -> Estimate:
    return coefficients.accuracy(run_confusion(run, rng))


def leniency(run: Run, rng: Generator) -> Estimate:
    drawn = run.draw(rng)
    judge, human = drawn.values["judge"], drawn.values["human"]
    columns = np.column_stack([judge > human, judge < human, judge == human])
    return balance(cluster_totals(drawn.sample, columns, drawn.population), (0,), (1,), (0, 1, 2))


def pass_rate(run: Run, rng: Generator) -> Estimate:
    drawn = run.draw(rng)
    domains = [2 * int(path[2]) + int(path[0]) for path in drawn.population.paths]
    totals = cluster_totals(drawn.sample, with_ones(drawn.values["human"]), drawn.population, domains)
    return clusters.stratified_ratios(totals, [[(0, 1), (2, 3)]])[0]


def difference(run: Run, rng: Generator) -> Estimate:
    drawn = run.draw(rng)
    domains = [int(path[2]) for path in drawn.population.paths]
    totals = cluster_totals(drawn.sample, with_ones(drawn.values["human"]), drawn.population, domains)
    return clusters.difference(totals, (2, 3), (0, 1)).difference


def miss_rate(run: Run, rng: Generator) -> Estimate:
    return clusters.ratio(_verdicts_by_flag(run.draw(rng)), _UNFLAGGED_WRONG, _UNFLAGGED)


def flag_recall(run: Run, rng: Generator) -> Estimate:
    totals = _verdicts_by_flag(run.draw(rng))
    whole = clusters.ratio(totals, _FLAGGED_WRONG, _FLAGGED_WRONG + _UNFLAGGED_WRONG)
    sums = [(_FLAGGED_WRONG, _FLAGGED)], [(_UNFLAGGED_WRONG, _UNFLAGGED)]
    return clusters.combine_sums([whole], totals, [sums])[0]


def few_sampled(ratings: int) -> Run:
    """Return a run with 100 flagged records, of which 25 are rated. They are wrong three times as often."""
    wrong = 0.1 / 1.2
    return Run(
        passed=(0.6,),
        right=(wrong, 1 - wrong),
        flagged=0.1,
        harder=2 * wrong,
        tasks=1_000,
        reviewed=(0.25, ratings / 900),
    )


def with_ones(values: npt.NDArray[Any]) -> FloatArray:
    return np.column_stack([values, np.ones(len(values))])
