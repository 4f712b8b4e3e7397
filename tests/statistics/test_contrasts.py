"""Signed sums of shares of the same clusters."""

import numpy as np
import pytest

from reviews.statistics.clusters import Comparison, difference
from reviews.statistics.contrasts import Counted, Term, contrast, count_by_cluster, difference_of_means
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.totals import ClusterTotals
from tests.support.statistics_packages import stats

TASKS = 60
REPLICATIONS = 400


def drifted(random: np.random.Generator) -> ClusterTotals:
    """Simulate two models in two runs, with anchors: shift 10 points, models 5 points apart.

    The columns are passed and all of: the anchors in both runs, the first model, the second model.
    """
    ease = random.normal(0, 0.15, TASKS)
    rates = {0: 0.5, 1: 0.6, 2: 0.45, 3: 0.6}
    cell: list[int] = []
    cluster: list[int] = []
    passed: list[bool] = []
    for domain, rate in rates.items():
        for _ in range(4):
            cell += [domain] * TASKS
            cluster += range(TASKS)
            passed += [*(random.random(TASKS) < np.clip(rate + ease, 0, 1))]
    sample = Sample(np.array(cell), np.array(cluster), np.ones(len(cell)))
    values = np.column_stack([passed, np.ones(len(cell))]).astype(float)
    return cluster_totals(sample, values, domains=range(4))


TERMS = (Term(1, 6, 7), Term(-1, 4, 5), Term(-1, 2, 3), Term(1, 0, 1))


@pytest.mark.exhaustive
def test_interval_of_a_difference_in_differences_covers_the_truth() -> None:
    random = np.random.default_rng(17)
    found = [contrast(drifted(random), TERMS) for _ in range(REPLICATIONS)]
    covered = sum((one.difference.low or 0) <= 0.05 <= (one.difference.high or 0) for one in found)
    # Three standard errors of 400 replications.
    assert 0.95 - 0.033 < covered / REPLICATIONS < 0.99
    mean = np.mean([one.difference.value for one in found])
    assert mean == pytest.approx(0.05, abs=0.01)


def test_contrast_of_two_shares_is_their_difference() -> None:
    totals = drifted(np.random.default_rng(3))
    found = contrast(totals, (Term(1, 2, 3), Term(-1, 0, 1)))
    expected = difference(totals, (2, 3), (0, 1))
    one, other = found.difference, expected.difference
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)
    assert (one.n, one.clusters) == (other.n, other.clusters)
    assert found.p == pytest.approx(expected.p)


def of_tasks(changes: np.ndarray) -> Comparison:
    """Compare scores that changed by these amounts, one in each task."""
    n = len(changes)
    sample = Sample(np.zeros(n, dtype=int), np.arange(n), np.ones(n))
    return difference_of_means(sample, 0.5 + changes, np.full(n, 0.5))


@pytest.mark.parametrize("n", [10, 20, 200])
def test_interval_of_small_changes_is_about_that_of_a_paired_t_test(n: int) -> None:
    changes = np.random.default_rng(2).normal(0.02, 0.05, n)
    found = of_tasks(changes).difference
    assert found.value == pytest.approx(changes.mean())
    assert found.low is not None
    assert found.high is not None
    expected = stats.ttest_1samp(changes, 0).confidence_interval()
    assert 1 < (found.high - found.low) / (expected.high - expected.low) < 1.3


def test_interval_of_equal_scores_allows_for_a_change_over_the_whole_scale() -> None:
    totals = cluster_totals(Sample(np.zeros(20, dtype=int), np.arange(20), np.ones(20)), np.ones((20, 2)))
    assert of_tasks(np.zeros(20)) == difference(totals, (0, 1), (0, 1))


def test_interval_of_changes_over_the_whole_scale_is_that_of_shares() -> None:
    sample = Sample(np.zeros(20, dtype=int), np.arange(20), np.ones(20))
    passed, none, all_ = np.repeat([1.0, 0.0], [3, 17]), np.zeros(20), np.ones(20)
    totals = cluster_totals(sample, np.column_stack([passed, none, all_]))
    assert difference_of_means(sample, passed, none) == difference(totals, (0, 2), (1, 2))


def test_counted_records_give_the_same_totals_as_ratings() -> None:
    random = np.random.default_rng(5)
    cluster, weight = random.integers(0, 9_000, 12_000), random.random(12_000)
    passed = random.random(12_000) < 0.6
    ratings = cluster_totals(
        Sample(np.zeros(12_000, dtype=int), cluster, weight), np.column_stack([passed, np.ones(12_000)])
    )
    parts = [slice(0, 5_000), slice(5_000, None)]
    counted = count_by_cluster(
        [
            [Counted(cluster[part][passed[part]], weight[part][passed[part]]) for part in parts],
            [Counted(cluster[part], weight[part]) for part in parts],
        ]
    )
    assert counted.rows == pytest.approx(ratings.rows)
    assert counted.squares == pytest.approx(ratings.squares)
    assert counted.counts.tolist() == ratings.counts.tolist()
    whole = [Counted(cluster)]
    assert count_by_cluster([whole]).squares.tolist() == [12_000]


def test_contrast_without_records_is_undefined() -> None:
    totals = cluster_totals(
        Sample(np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.ones(1)), np.ones((1, 2)), domains=[1]
    )
    found = contrast(totals, (Term(1, 2, 3), Term(-1, 0, 1)))
    assert (found.difference.value, found.p) == (None, 1.0)
