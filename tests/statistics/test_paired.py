"""The comparison of two judges on the same responses."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from reviews.statistics.paired import (
    PairedEstimate,
    PairedRatings,
    Responses,
    compare_verdicts,
    response_weights,
)
from tests.judge.coverage.paired import FAIL, PASS, TwoRuns
from tests.support.estimates import limits

REPLICATIONS = 120


def responses(*verdicts: tuple[int, int]) -> Responses:
    """Responses with a flagged record of each judge, of different tasks."""
    one_hot = np.eye(3, dtype=np.int64)
    first, second = np.array(verdicts).T
    flags = np.tile([0, 1, 0, 1], (len(verdicts), 1))
    return Responses(np.arange(len(verdicts)), one_hot[first], one_hot[second], flags, np.ones(len(verdicts)))


def ratings(answered: Responses, *rated: tuple[int, int], side: int = 0) -> PairedRatings:
    """Ratings of responses, given as place and human verdict."""
    place, human = np.array(rated, dtype=np.int64).reshape(-1, 2).T
    right = np.column_stack([answered.first[place, human], answered.second[place, human]]).astype(float)
    ones = np.ones(len(place))
    return PairedRatings(place, np.full(len(place), 2 * side + 1), ones, ones.astype(np.int64), right)


def test_columns_are_copied_only_without_some_rows() -> None:
    answered = responses((PASS, FAIL), (FAIL, FAIL))
    assert answered.only(np.array([True, True])) is answered
    assert answered.only(np.array([False, True])).cluster.tolist() == [1]
    assert answered.only(np.array([1, 0])).cluster.tolist() == [1, 0]


@pytest.mark.slow
def test_response_that_both_runs_can_rate_does_not_count_twice() -> None:
    """Flagged records are rated in both runs. A judge is wrong most often on responses that both flagged."""
    runs = TwoRuns(
        tasks=150, each=1, likeness=0, both_wrong=0.15, flagged=(0.1, 0.8), rated=((0.8, 0.3), (0.8, 0.0))
    )
    found, naive = [], []
    for rng in np.random.default_rng(1).spawn(REPLICATIONS):
        drawn = runs.draw(rng)
        given, weight = drawn.ratings, drawn.ratings.weight
        found.append(compare_verdicts(drawn.responses, given).first.value)
        naive.append(float(weight @ given.right[:, 0] / weight.sum()))
    errors = np.array([found, naive]) - runs.first_accuracy
    noise = errors.std(axis=1) / sqrt(REPLICATIONS)
    assert abs(errors[0].mean()) < 3 * noise[0]
    assert errors[1].mean() < -5 * noise[1]


@pytest.mark.slow
def test_sample_of_unrated_responses_leaves_estimates_unbiased() -> None:
    """Rated responses are flagged more often, and a judge is wrong more often on flagged ones."""
    runs = TwoRuns(tasks=300, rated=((0.6, 0.1), (0.3, 0.0)), others=0.1)
    found = []
    for rng in np.random.default_rng(1).spawn(REPLICATIONS):
        drawn = runs.draw(rng)
        known = compare_verdicts(drawn.responses, drawn.ratings)
        ones = replace(drawn.responses, weight=np.ones(len(drawn.responses)))
        naive = compare_verdicts(ones, drawn.ratings)
        found.append((known.first.value, known.difference.difference.value, naive.first.value))
    errors = np.array(found) - (runs.first_accuracy, runs.difference, runs.first_accuracy)
    deviations = errors.mean(axis=0) / (errors.std(axis=0) / sqrt(REPLICATIONS))
    assert abs(deviations[:2]).max() < 3
    assert deviations[2] < -5


def test_weight_is_the_inverse_of_the_expected_number_of_ratings() -> None:
    answered = responses(*[(FAIL, PASS)] * 4)
    first = ratings(answered, (0, PASS), (1, PASS), (2, PASS))
    second = ratings(answered, (0, PASS), side=1)
    both = PairedRatings(
        *(
            np.concatenate([getattr(first, name), getattr(second, name)])
            for name in ("response", "frame", "weight", "raters", "right")
        )
    )
    # Three of four records of the first judge are rated, and one of four of the second.
    assert response_weights(answered, both) == pytest.approx([1 / (3 / 4 + 1 / 4)] * 4)


class TestDifference:
    def test_equal_verdicts_need_no_ratings(self) -> None:
        answered = responses(*[(PASS, PASS)] * 80, *[(FAIL, PASS)] * 20)
        few = compare_verdicts(answered, ratings(answered, *[(place, PASS) for place in range(80, 100)]))
        assert (few.responses, few.different, few.unknown) == (100, 20, 0)
        assert few.difference.difference.value == pytest.approx(0.2)
        assert _width(few) < 0.25

    def test_differing_responses_without_ratings_widen_the_interval(self) -> None:
        answered = responses(*[(PASS, PASS)] * 80, *[(FAIL, PASS)] * 20)
        found = compare_verdicts(answered, ratings(answered, *[(place, PASS) for place in range(40)]))
        assert found.unknown == 20
        assert found.difference.difference.value == 0
        assert 0.4 < _width(found) < 0.7
        assert found.difference.p == 1

    def test_judges_that_never_differ_have_an_interval_with_a_width(self) -> None:
        answered = responses(*[(PASS, PASS)] * 30)
        found = compare_verdicts(answered, ratings(answered, *[(place, PASS) for place in range(30)]))
        assert found.difference.difference.value == 0
        assert 0 < _width(found) < 0.3

    def test_few_equal_ratings_leave_doubt(self) -> None:
        answered = responses(*[(FAIL, PASS)] * 30)
        found = compare_verdicts(answered, ratings(answered, *[(place, PASS) for place in range(3)]))
        assert found.difference.difference.value == 1
        assert _width(found) > 0.5

    def test_without_ratings_it_is_undefined(self) -> None:
        answered = responses((PASS, FAIL))
        assert compare_verdicts(answered, ratings(answered)).difference.difference.value is None


def _width(found: PairedEstimate) -> float:
    low, high = found.difference.difference.low, found.difference.difference.high
    assert low is not None
    assert high is not None
    return high - low


def test_accuracies_are_uncertain_with_few_ratings_of_unflagged_responses() -> None:
    """Ten ratings represent four fifths of the responses."""
    runs, covered = TwoRuns(tasks=400, each=1, likeness=0, rated=((0.3, 10 / 320), (0, 0))), 0
    for rng in np.random.default_rng(1).spawn(100):
        drawn = runs.draw(rng)
        low, high = limits(compare_verdicts(drawn.responses, drawn.ratings).first)
        covered += low <= runs.first_accuracy <= high
    assert covered >= 93
