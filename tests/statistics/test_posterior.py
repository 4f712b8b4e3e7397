"""Coefficients of whole runs have the uncertainty of flagged and of sampled ratings."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cognireview.types.estimates import Estimate
from reviews.statistics import posterior
from reviews.statistics.coefficients import Confusion, ac1, false_fail, false_pass, kappa, weighted_kappa
from reviews.statistics.extrapolation import Sample, cluster_totals
from tests.judge.coverage.ratings import VERDICTS, Pairs
from tests.judge.coverage.runs import few_sampled, run_confusion
from tests.judge.coverage.settings import truth_of
from tests.support.estimates import limits
from tests.support.statistics_packages import stats

#: The records of each pair of verdicts, judge x human: flagged, then unflagged ones.
FLAGGED, SAMPLED = [6, 4, 5, 10], [2, 0, 0, 3]


def strata(flagged: list[int], sampled: list[int], *, are_alike: bool = False) -> Confusion:
    """Return the pairs of 200 flagged and 800 unflagged records. Alike strata have the same clusters."""
    drawn = [np.repeat(np.arange(4), counts) for counts in (flagged, sampled)]
    cell = np.repeat([0, 1], [len(one) for one in drawn])
    second = np.arange(len(drawn[1])) + (0 if are_alike else 1_000)
    weight = np.array([200, 800])[cell] / np.array([len(one) for one in drawn])[cell]
    sample = Sample(cell, np.concatenate([np.arange(len(drawn[0])), second]), weight)
    totals = cluster_totals(sample, np.eye(4)[np.concatenate(drawn)], domains=(0, 1))
    totals = replace(totals, is_extrapolated=True)
    parts = tuple(Confusion(VERDICTS, totals, start) for start in (0, 4))
    return replace(Confusion(VERDICTS, totals.join_domains(4)), strata=parts)


def width(estimate: Estimate) -> float:
    low, high = limits(estimate)
    return high - low


@pytest.mark.parametrize("coefficient", [kappa, weighted_kappa, ac1])
def test_few_equal_ratings_of_a_stratum_have_their_own_uncertainty(
    coefficient: Callable[[Confusion], Estimate],
) -> None:
    """Five sampled ratings may have no error by chance, and those of flagged records are known."""
    found, with_one = strata(FLAGGED, SAMPLED), strata(FLAGGED, [1, 1, 0, 3])
    low, high = limits(coefficient(found))
    assert coefficient(found).value == coefficient(replace(found, strata=())).value
    assert low < (coefficient(with_one).value or 0)
    assert high < 0.95 < limits(coefficient(replace(found, strata=())))[1]


def test_strata_that_vary_together_are_less_certain() -> None:
    counts = [20, 5, 6, 19]
    apart, alike = (kappa(strata(counts, counts, are_alike=together)) for together in (False, True))
    assert apart.value == pytest.approx(alike.value)
    assert width(alike) > 1.1 * width(apart)


def test_single_stratum_is_the_whole() -> None:
    found = strata(FLAGGED, [0, 0, 0, 0])
    assert kappa(found) == kappa(replace(found, strata=()))


@pytest.mark.parametrize("figure", [kappa, ac1, false_pass, false_fail])
def test_interval_of_a_run_covers_the_truth_with_few_sampled_ratings(
    figure: Callable[[Confusion], Estimate],
) -> None:
    """10 ratings represent nine tenths of the records, and 42% of such samples have no error."""
    run = few_sampled(10)
    truth, missed = truth_of(figure, Pairs(run.verdicts)), 0
    for rng in np.random.default_rng(1).spawn(60):
        low, high = limits(figure(run_confusion(run, rng)))
        missed += not low <= truth <= high
    assert missed <= 7


@pytest.mark.parametrize("shape", [1 / 12, 4, 19.9, 20, 500])
def test_drawn_gamma_variables_have_the_limits_of_their_distribution(shape: float) -> None:
    drawn = np.concatenate([posterior._gamma(shape, place, 4_000) for place in range(10)])
    assert np.quantile(drawn, [0.025, 0.5, 0.975]) == pytest.approx(
        stats.gamma.ppf([0.025, 0.5, 0.975], shape), rel=0.1 if shape < 1 else 0.02, abs=1e-9
    )


def test_draws_of_other_pairs_are_independent() -> None:
    drawn = [posterior._gamma(shape, place, 4_000) for place, shape in enumerate((2, 2, 50, 50))]
    assert abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.05
