"""Confidence sequences by betting: their limits, and how often they exclude the truth at any time."""

from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cognireview.types.estimates import Estimate
from reviews.statistics.betting import share_sequence, widened
from reviews.statistics.intervals import undefined, wilson
from reviews.statistics.sums import FloatArray

SEQUENCES = 100
IntArray: TypeAlias = NDArray[np.int64]

STAKES = [0.95 / 2**place for place in range(8)]


def of_counts(hits: int, n: int) -> Estimate:
    return share_sequence(np.r_[np.ones(hits), np.zeros(n - hits)], np.ones(n), n)


def limits(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def capital(hits: int, n: int, share: float) -> float:
    """The mean capital of bets that the share is larger, one unit at a time."""
    wins, losses = hits, n - hits
    return sum((1 - s + s / share) ** wins * (1 - s) ** losses for s in STAKES) / len(STAKES)


@pytest.mark.parametrize(("hits", "n"), [(30, 40), (10, 10), (95, 100), (3, 60)])
def test_limits_are_where_the_capital_is_fortyfold(hits: int, n: int) -> None:
    low, high = limits(of_counts(hits, n))
    assert capital(hits, n, low) == pytest.approx(40, rel=1e-3)
    assert hits == n or capital(n - hits, n, 1 - high) == pytest.approx(40, rel=1e-3)


def test_sequence_is_wider_than_an_interval_and_contains_the_value() -> None:
    for hits, n in ((0, 10), (10, 10), (30, 40), (700, 1000)):
        found, once = of_counts(hits, n), wilson(hits, n)
        low, high = limits(found)
        assert found.value == hits / n
        assert found.n == n
        assert low <= hits / n <= high
        assert high - low > limits(once)[1] - limits(once)[0]


def test_sequence_of_many_ratings_is_narrow() -> None:
    low, high = limits(of_counts(16_000, 20_000))
    assert 0.785 < low < 0.8 < high < 0.815


def test_sequence_of_one_kind_of_ratings_has_a_width() -> None:
    low, high = limits(of_counts(20, 20))
    assert (0.7 < low < 0.9, high) == (True, 1.0)


def test_sequence_without_ratings_is_undefined() -> None:
    found = share_sequence(np.zeros(0), np.zeros(0), 0)
    assert (found.value, found.why) == (None, "There are no ratings to count.")


def test_sequence_of_clusters_is_wider_than_that_of_their_members() -> None:
    whole = share_sequence(np.r_[np.full(16, 5.0), np.zeros(4)], np.full(20, 5.0), 100)
    assert limits(whole)[0] < limits(of_counts(80, 100))[0]


def test_interval_is_widened_to_an_asymptotic_sequence() -> None:
    """Robbins' normal mixture at n = 200: rho^2 = (5.9915 + log 5.9915 + 1) / 200 = 0.043910."""
    found = widened(Estimate(0.5, 0.4, 0.7, 200))
    clock = 8.7819
    times = (1.0 + 1 / clock) ** 0.5 * np.log((1 + clock) / 0.0025) ** 0.5 / 1.959964
    assert limits(found) == pytest.approx((0.5 - 0.1 * times, 0.5 + 0.2 * times), abs=1e-4)
    assert 1.5 < times < 1.6
    for n in (20, 2000, 100_000):
        low, high = limits(widened(Estimate(0.0, -0.1, 0.1, n)))
        assert 0.15 < high < 0.2
        assert low == -high
    assert limits(widened(Estimate(0.9, -0.8, 1.0, 50))) == (-1, 1)
    assert widened(undefined("There are none.")) == undefined("There are none.")


weights = st.floats(0.1, 50.0)


@given(st.lists(st.tuples(weights, st.floats(0, 1)), min_size=1, max_size=30), weights)
def test_sequence_ignores_the_order_and_the_unit_of_weights(
    parts: list[tuple[float, float]], unit: float
) -> None:
    cases = np.array([case for case, _ in parts])
    hits = cases * [share for _, share in parts]
    found = share_sequence(hits, cases, len(parts))
    again = share_sequence(hits[::-1] * unit, cases[::-1] * unit, len(parts))
    assert limits(again) == pytest.approx(limits(found), abs=1e-4)
    low, high = limits(found)
    assert 0 <= low <= (found.value or 0) <= high <= 1


def by_task(values: FloatArray, tasks: IntArray) -> FloatArray:
    """The sum of the values of each task that has some."""
    return np.bincount(tasks, values).astype(np.float64)[np.bincount(tasks) > 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "within", "order"),
    [
        (0.8, 0.4, "by task"),
        pytest.param(0.8, 0.4, "random", marks=pytest.mark.exhaustive),
        pytest.param(0.8, 1e-9, "by task", marks=pytest.mark.exhaustive),
        pytest.param(0.95, 0.2, "by task", marks=pytest.mark.exhaustive),
    ],
)
def test_judge_at_the_limit_is_rarely_above_it_at_any_time(share: float, within: float, order: str) -> None:
    """Ask after every 15 of 300 ratings. `within` is the correlation of the ratings of a task.

    The 95% interval of one look passes the judge in 10% to 38% of such sequences.
    """
    random = np.random.default_rng(1)
    scale = 1 / within - 1
    passed = 0
    for _ in range(SEQUENCES):
        chance = random.beta(share * scale, (1 - share) * scale, 60).repeat(5)
        hits, tasks = (random.random(300) < chance).astype(float), np.arange(60).repeat(5)
        if order == "random":
            places = random.permutation(300)
            hits, tasks = hits[places], tasks[places]
        passed += any(
            limits(
                share_sequence(by_task(hits[:n], tasks[:n]), by_task(np.ones(n), tasks[:n]), n),
            )[0]
            >= share
            for n in range(15, 301, 15)
        )
    assert passed <= SEQUENCES * 0.05
