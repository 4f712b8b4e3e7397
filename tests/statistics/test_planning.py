"""Planning: how many more ratings narrow an interval to a target."""

from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.statistics import planning
from reviews.statistics.planning import DesignEffect, PlanCells

INDEPENDENT = DesignEffect(1.0, 1.0)


def cells(sizes: Any, deviation: Any, rated: Any = 0, possible: Any = None) -> PlanCells:
    size = np.asarray(sizes, dtype=float)
    return PlanCells(
        size,
        np.broadcast_to(np.asarray(rated, dtype=float), size.shape).copy(),
        size if possible is None else np.asarray(possible, dtype=float),
        np.broadcast_to(np.asarray(deviation, dtype=float), size.shape).copy(),
    )


def test_one_cell_needs_the_textbook_number_of_ratings() -> None:
    found = planning.allocate(cells([100_000], 0.5), 0.05, INDEPENDENT)
    assert found.tolist() == [ceil(1.959964**2 * 0.25 / 0.05**2)] == [385]


def test_design_effect_multiplies_the_ratings() -> None:
    assert planning.allocate(cells([100_000], 0.5), 0.05, DesignEffect(2.0, 2.0)).tolist() == [769]


def test_more_ratings_of_the_same_tasks_keep_the_variance_between_tasks() -> None:
    effect = planning.design_effect(1.5, 0.001, 2.25, 0.1)
    assert (effect.now, effect.reduced, effect.kept) == pytest.approx((1.5, 1.05, 0.00045))
    alone = planning.design_effect(1.5, 0.001, 0, 0.1)
    assert (alone.reduced, alone.kept) == (1.5, 0)
    given = cells([100_000], 0.5, rated=250)
    assert planning.allocate(given, 0.05, effect) > planning.allocate(given, 0.05, alone)


def test_variance_between_tasks_at_most_doubles_the_ratings() -> None:
    effect = planning.design_effect(3.0, 0.01, 1_000, 0.05)
    assert planning.allocate(cells([100_000], 0.5), 0.05, effect).tolist() == [769]


def test_ratings_are_proportional_to_records_and_deviation() -> None:
    found = planning.allocate(cells([10_000, 30_000, 20_000], [0.5, 0.1, 0.3]), 0.02, INDEPENDENT)
    neyman = np.array([10_000 * 0.5, 30_000 * 0.1, 20_000 * 0.3])
    assert found / found.sum() == pytest.approx(neyman / neyman.sum(), abs=0.01)


def test_existing_ratings_are_counted() -> None:
    assert planning.allocate(cells([100_000], 0.5, rated=300), 0.05, INDEPENDENT).tolist() == [85]
    assert planning.allocate(cells([100_000], 0.5, rated=400), 0.05, INDEPENDENT).tolist() == [0]


def test_surplus_of_one_cell_replaces_ratings_of_others() -> None:
    needed = planning.allocate(cells([1_000, 1_000], 0.5), 0.05, INDEPENDENT)
    with_surplus = planning.allocate(cells([1_000, 1_000], 0.5, rated=[500, 0]), 0.05, INDEPENDENT)
    assert with_surplus[0] == 0
    assert with_surplus[1] < needed[1]


def test_target_out_of_reach_needs_all_possible_ratings() -> None:
    found = planning.allocate(cells([50, 70], 0.5, rated=[10, 0], possible=[40, 70]), 0.01, INDEPENDENT)
    assert found.tolist() == [30, 70]


def test_cell_that_nobody_can_rate_is_left_out() -> None:
    found = planning.allocate(cells([50_000, 50_000], 0.5, possible=[50_000, 0]), 0.05, INDEPENDENT)
    assert found.tolist() == [385, 0]


def test_no_cells_need_no_ratings() -> None:
    assert planning.allocate(cells([], []), 0.05, INDEPENDENT).tolist() == []


def test_deviation_is_the_largest_without_ratings() -> None:
    none = np.zeros(2)
    assert planning.deviations(none, none, np.array([0, 1])).tolist() == [0.5, 0.5]


def test_deviation_borrows_from_cells_of_the_same_group() -> None:
    rated, wrong = np.array([100.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0])
    first, like_it, other = planning.deviations(rated, wrong, np.array([0, 0, 1]))
    assert first < 0.2
    assert like_it < 0.2
    assert other == 0.5


def test_half_width_is_unknown_without_ratings_of_a_cell_and_at_most_half() -> None:
    found = cells([10, 10], 0.5)
    assert planning.half_width(found, np.array([5.0, 0.0]), INDEPENDENT) is None
    assert planning.half_width(found, np.array([50.0, 50.0]), INDEPENDENT) == pytest.approx(0.098, abs=0.001)
    assert planning.half_width(found, np.array([0.5, 0.5]), INDEPENDENT) == 0.5


@given(
    st.lists(
        st.tuples(st.integers(1, 5_000), st.floats(0.05, 0.5), st.integers(0, 300)), min_size=1, max_size=12
    ),
    st.floats(0.01, 0.2),
    st.floats(1, 4),
    st.floats(0, 5),
)
def test_plan_reaches_the_target_with_a_rating_less_per_cell_to_spare(
    rows: list[tuple[int, float, int]], target: float, now: float, neighbours: float
) -> None:
    sizes, deviation, rated = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    given = cells(sizes, deviation, np.minimum(rated, sizes))
    effect = planning.design_effect(now, 0.25 / max(1, given.rated.sum()), neighbours, target)
    more = planning.allocate(given, target, effect)
    after = given.rated + more
    assert (more >= 0).all()
    assert (after <= given.possible + 1).all()
    width = planning.half_width(given, np.maximum(after, 1) + 1, effect)
    best = planning.half_width(given, given.possible, effect)
    assert width is not None
    assert best is not None
    assert width <= max(target, best) * 1.02
