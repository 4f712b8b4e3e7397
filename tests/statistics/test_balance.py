"""The interval of a share on one side minus the share on the other."""

import numpy as np
import pytest

from cognireview.types.estimates import Estimate
from reviews.statistics.balance import balance
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.intervals import wilson


def of_counts(above: int, below: int, neither: int, *, each: int = 1) -> Estimate:
    """Estimate the balance of ratings, `each` equal ones in a cluster."""
    drawn = np.repeat(np.arange(3), [above * each, below * each, neither * each])
    cluster = np.arange(len(drawn)) // each
    sample = Sample(np.zeros_like(drawn), cluster, np.ones(len(drawn)))
    return balance(cluster_totals(sample, np.eye(3)[drawn]), (0,), (1,), (0, 1, 2))


def test_interval_of_one_side_ends_at_the_limit_of_its_share() -> None:
    """The other side can only lower the balance: `high` is that of Wilson."""
    found, share = of_counts(10, 0, 90), wilson(10, 100)
    assert found.value == share.value
    assert found.high == pytest.approx(share.high, abs=1e-3)
    assert found.low is not None
    assert share.low is not None
    assert found.low < share.low


def test_interval_of_equal_sides_is_symmetric() -> None:
    found = of_counts(10, 10, 80)
    assert found.value == 0
    assert found.low is not None
    assert found.high == pytest.approx(-found.low)


def test_interval_has_a_width_without_ratings_on_either_side() -> None:
    found = of_counts(0, 0, 50)
    assert (found.low or 0) < 0 < (found.high or 0)


def test_interval_counts_clusters() -> None:
    single, clustered = of_counts(8, 4, 28), of_counts(8, 4, 28, each=5)
    assert clustered.n == 5 * single.n
    assert clustered.clusters == single.clusters
    assert clustered.design_effect == pytest.approx(5, rel=0.15)
