"""Ranges of numbers: valid scores, their order, levels and types."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.scales import (
    MAX_BUTTONS,
    Level,
    RangeScale,
)
from reviews.records.scores import Score
from tests.support.rubric_strategies import RANGE_SCALES

ONE_TO_TEN = RangeScale(1, 10, pass_from=7, partial_from=4)
TENTHS = RangeScale(0, 1, is_integer=False, step=0.1)
ERRORS = RangeScale(0, 20, pass_from=2, partial_from=5, lower_is_better=True)


class TestRangeScale:
    @pytest.mark.parametrize(
        ("scale", "score", "level"),
        [
            (ONE_TO_TEN, 10, "yes"),
            (ONE_TO_TEN, 7, "yes"),
            (ONE_TO_TEN, 6.9, "partial"),
            (ONE_TO_TEN, "4", "partial"),
            (ONE_TO_TEN, " 8 ", "yes"),
            (ONE_TO_TEN, 1, "no"),
            (ONE_TO_TEN, 0, None),
            (ONE_TO_TEN, 11, None),
            (ONE_TO_TEN, "11", None),
            (ONE_TO_TEN, True, None),
            (ONE_TO_TEN, "eight", None),
            (ONE_TO_TEN, "8/10", None),
            (ONE_TO_TEN, "1e999", None),
            (ONE_TO_TEN, "9" * 5000, None),
            (ONE_TO_TEN, None, None),
            (ONE_TO_TEN, [8], None),
            (ONE_TO_TEN, float("nan"), None),
            (ERRORS, 0, "yes"),
            (ERRORS, 2, "yes"),
            (ERRORS, 3, "partial"),
            (ERRORS, 6, "no"),
            (RangeScale(0, 1, pass_from=0), 0, "yes"),
            (RangeScale(-1, 1, pass_from=1, partial_from=0), 0, "partial"),
            (TENTHS, 0.5, None),
        ],
    )
    def test_level_comes_from_thresholds(self, scale: RangeScale, score: Any, level: Level | None) -> None:
        assert scale.level(score) == level

    def test_rank_is_higher_for_better_scores(self) -> None:
        assert [ONE_TO_TEN.rank(score) for score in (8, "8", 0, "?")] == [8, 8, None, None]
        assert [ERRORS.rank(score) for score in (0, 8)] == [0, -8]

    def test_amount_is_the_number_itself(self) -> None:
        assert [ERRORS.amount(score) for score in (0, 8, "3", 21, None)] == [0, 8, 3, None, None]

    @pytest.mark.parametrize(
        ("scale", "score", "like", "found"),
        [
            (ONE_TO_TEN, 8, None, 8),
            (ONE_TO_TEN, 8.0, None, 8),
            (ONE_TO_TEN, 8, 9, 8),
            (ONE_TO_TEN, 8, 9.0, 8.0),
            (ONE_TO_TEN, 8, "9", "8"),
            (ONE_TO_TEN, "8", "9", "8"),
            (ONE_TO_TEN, "8", 9, None),
            (ONE_TO_TEN, "8", None, None),
            (ONE_TO_TEN, 8, "N/A", "8"),
            (ONE_TO_TEN, 8, True, 8),
            (ONE_TO_TEN, 8, -1, 8),
            # The judge's own number is kept as it is written.
            (ONE_TO_TEN, 8, 8.0, 8.0),
            (ONE_TO_TEN, 8.0, 8, 8),
            (ONE_TO_TEN, 8, "8.0", "8.0"),
            (ONE_TO_TEN, 8, " 08 ", " 08 "),
            (ONE_TO_TEN, 8.5, None, None),
            (ONE_TO_TEN, 0, None, None),
            (ONE_TO_TEN, True, None, None),
            (ONE_TO_TEN, None, None, None),
            (ONE_TO_TEN, [8], None, None),
            (RangeScale(0, 1, is_integer=False), 0.92, 0.45, 0.92),
            (RangeScale(0, 1, is_integer=False), 1, 0.45, 1.0),
            (RangeScale(0, 1, is_integer=False), 1, None, 1.0),
            (RangeScale(0, 1, is_integer=False), 0.92, 1, 0.92),
            (RangeScale(0, 1, is_integer=False), 1.0, 0, 1),
            (RangeScale(0, 1, is_integer=False), 0.92, "0.4", "0.92"),
            (RangeScale(0, 1, is_integer=False), -0.0, None, 0.0),
            (RangeScale(0, 1), -0.0, 1.0, 0.0),
        ],
    )
    def test_fitting_number_has_the_type_of_the_judge(
        self, scale: RangeScale, score: Any, like: Any, found: Score | None
    ) -> None:
        assert repr(scale.fit(score, like)) == repr(found)

    @pytest.mark.parametrize("step", [0.1, 0.01, 0.05, 0.001])
    def test_every_multiple_of_a_decimal_step_fits(self, step: float) -> None:
        scale = RangeScale(0, 1, is_integer=False, step=step)
        count = round(1 / step)
        assert scale.size == count + 1
        digits = len(str(step)) - 2
        valid = [round(place * step, digits) for place in range(count + 1)]
        assert [scale.fit(number) for number in valid] == valid
        assert not any(scale.fit(number + step / 2) for number in valid[:-1])

    def test_steps_begin_at_the_minimum(self) -> None:
        scale = RangeScale(0.5, 2.5, is_integer=False, step=1)
        assert [scale.fit(number) for number in (0.5, 1.5, 1, 2)] == [0.5, 1.5, None, None]

    @pytest.mark.parametrize("step", [1e-300, 1e-15])
    def test_tiny_step_is_exact(self, step: float) -> None:
        scale = RangeScale(0, 10**15, is_integer=False, step=step)
        assert (scale.fit(10**14), scale.fit(step), scale.buttons) == (1e14, step, ())

    @pytest.mark.parametrize(
        ("scale", "buttons"),
        [
            (RangeScale(1, MAX_BUTTONS), (1, 2, 3, 4, 5, 6, 7)),
            (RangeScale(1, MAX_BUTTONS + 1), ()),
            (RangeScale(0.0, 2.0), (0, 1, 2)),
            (RangeScale(0, 1, is_integer=False), ()),
            (RangeScale(0, 1, is_integer=False, step=0.25), (0.0, 0.25, 0.5, 0.75, 1.0)),
            (RangeScale(0, 0.6, is_integer=False, step=0.1), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
            (RangeScale(0, 1, is_integer=False, step=0.3), (0.0, 0.3, 0.6, 0.9)),
            (TENTHS, ()),
        ],
    )
    def test_short_range_has_a_button_for_each_score(
        self, scale: RangeScale, buttons: tuple[Score, ...]
    ) -> None:
        assert repr(scale.buttons) == repr(buttons)

    @pytest.mark.parametrize(
        ("scale", "requirement"),
        [
            (ONE_TO_TEN, "Enter a whole number from 1 to 10."),
            (TENTHS, "Enter a number from 0 to 1 in steps of 0.1."),
            (RangeScale(-2.5, 1000, is_integer=False), "Enter a number from -2.5 to 1,000."),
        ],
    )
    def test_requirement_names_the_range(self, scale: RangeScale, requirement: str) -> None:
        assert scale.requirement == requirement

    @pytest.mark.parametrize(
        ("scale", "problems"),
        [
            (ONE_TO_TEN, []),
            (ERRORS, []),
            (TENTHS, []),
            (RangeScale(1, 1), [("max", "The highest score must be above the lowest, 1.")]),
            (RangeScale(2, 1), [("max", "The highest score must be above the lowest, 2.")]),
            (RangeScale(0, 1.5), [("min", "The lowest and the highest score must be whole numbers.")]),
            (RangeScale(0, 5, step=1), [("step", "Whole numbers have no step.")]),
            (
                RangeScale(0, 1, is_integer=False, step=0),
                [("step", "The step must be above 0 and fit into the range.")],
            ),
            (
                RangeScale(0, 1, is_integer=False, step=2),
                [("step", "The step must be above 0 and fit into the range.")],
            ),
            (RangeScale(1, 5, pass_from=6), [("pass_from", "This must be from 1 to 5.")]),
            (
                RangeScale(1, 5, pass_from=0, partial_from=7),
                [
                    ("pass_from", "This must be from 1 to 5."),
                    ("partial_from", "This must be from 1 to 5."),
                    ("partial_from", "Partial cannot begin at a better score than Pass."),
                ],
            ),
            (
                RangeScale(1, 5, partial_from=2),
                [("partial_from", "Partial needs a number from which scores pass, too.")],
            ),
            (
                RangeScale(1, 5, pass_from=2, partial_from=3),
                [("partial_from", "Partial cannot begin at a better score than Pass.")],
            ),
            (
                RangeScale(1, 5, pass_from=3, partial_from=2, lower_is_better=True),
                [("partial_from", "Partial cannot begin at a better score than Pass.")],
            ),
        ],
    )
    def test_problems_have_their_place(self, scale: RangeScale, problems: list[tuple[str, str]]) -> None:
        assert [*scale.problems()] == problems

    @pytest.mark.parametrize("limit", [float("inf"), -float("inf"), float("nan"), 10**16, 1e300])
    def test_bounds_are_finite_numbers(self, limit: float) -> None:
        for scale in (RangeScale(0, limit, is_integer=False), RangeScale(limit, 1)):
            [(place, reason)] = scale.problems()
            assert (place, reason[:35]) == ("max", "The lowest and the highest score mu")

    @given(RANGE_SCALES, st.integers() | st.floats() | st.text(), st.none() | st.integers() | st.floats())
    def test_fitting_score_is_within_the_range_and_fits_again(
        self, scale: RangeScale, score: Any, like: Any
    ) -> None:
        found = scale.fit(score, like)
        if found is not None:
            assert scale.minimum <= float(found) <= scale.maximum
            assert scale.amount(found) == scale.amount(score)
            assert repr(scale.fit(found, like)) == repr(found)
