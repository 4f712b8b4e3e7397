"""The alternative annotator test equals its definition, and a judge that is too far behind rarely passes."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from reviews.statistics.alt_test import (
    JointRatings,
    benjamini_yekutieli,
    compare_with_reviewers,
)
from reviews.statistics.students_t import t_tail
from tests.support.statistics_packages import stats

EPSILON = 0.15


class Given(NamedTuple):
    """One reviewer's score of a record, and the judge's."""

    record: int
    reviewer: int
    score: int
    judge: int


def columns(given: list[Given], cluster: list[int] | None = None, weight: float = 1.0) -> JointRatings:
    record, reviewer, score, judge = (np.array(column, dtype=np.int64) for column in zip(*given, strict=True))
    places = record if cluster is None else np.array(cluster, dtype=np.int64)
    return JointRatings(record, reviewer, places, score, judge, np.full(len(given), weight))


def simulated(
    *, records: int, noise: float, judge_noise: float, seed: int, reviewers: int = 3, scored_by: int = 3
) -> list[Given]:
    """Scores of four categories. The noise of a rater is the share of wrong scores."""
    random = np.random.default_rng(seed)

    def scores(share: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return (truth + (random.random(records) < share) * random.integers(1, 4, records)) % 4

    truth = random.integers(0, 4, records)
    judge, human = scores(judge_noise), [scores(noise) for _ in range(reviewers)]
    return [
        Given(record, int(one), int(human[one][record]), int(judge[record]))
        for record in range(records)
        for one in random.permutation(reviewers)[:scored_by]
    ]


def by_definition(given: list[Given], epsilon: float) -> tuple[float, float, list[float]]:
    """The winning rate, the average advantage probability and the adjusted p-values, record by record."""
    of_record = defaultdict[int, list[Given]](list)
    for one in given:
        of_record[one.record].append(one)
    differences, advantages = defaultdict[int, list[int]](list), defaultdict[int, list[bool]](list)
    for found in of_record.values():
        for one in found if len(found) > 1 else ():
            others = [other.score for other in found if other is not one]
            judge, human = others.count(one.judge), others.count(one.score)
            differences[one.reviewer].append((human >= judge) - (judge >= human))
            advantages[one.reviewer].append(judge >= human)
    p = [_p_of_t_test(differences[one], epsilon) for one in sorted(differences)]
    adjusted = benjamini_yekutieli(p)
    average = np.mean([np.mean(found) for found in advantages.values()])
    return float(np.mean(np.array(adjusted) <= 0.05)), float(average), adjusted


def _p_of_t_test(values: list[int], limit: float) -> float:
    """Return the p-value of Student's one-sided test that the mean is below a limit."""
    statistic = (np.mean(values) - limit) / (np.std(values, ddof=1) / len(values) ** 0.5)
    outside = t_tail(float(statistic), len(values) - 1) / 2
    return outside if statistic < 0 else 1 - outside


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scored_by", [2, 3, 5])
def test_alt_test_equals_its_definition(seed: int, scored_by: int) -> None:
    given = simulated(records=150, noise=0.3, judge_noise=0.25, seed=seed, reviewers=5, scored_by=scored_by)
    found = compare_with_reviewers(columns(given, weight=4))
    rate, advantage, adjusted = by_definition(given, EPSILON)
    test = found.test(EPSILON)
    assert test.winning_rate == rate
    assert found.advantage.value == pytest.approx(advantage)
    assert benjamini_yekutieli([one.p_value(EPSILON) for one in found.reviewers]) == pytest.approx(adjusted)
    assert test.wins == tuple(p <= 0.05 for p in adjusted)
    assert found.records == 150


def test_records_of_one_reviewer_are_ignored() -> None:
    given = simulated(records=80, noise=0.2, judge_noise=0.2, seed=1)
    alone = [Given(1000 + place, 0, 1, 2) for place in range(50)]
    assert compare_with_reviewers(columns(given + alone)) == compare_with_reviewers(columns(given))
    nothing = compare_with_reviewers(columns(alone))
    assert (nothing.records, nothing.reviewers) == (0, ())
    assert nothing.advantage.why == "No record has scores of two reviewers and of the judge."


def test_judge_like_the_reviewers_passes_and_a_random_one_is_shown_worse() -> None:
    outcomes = [
        compare_with_reviewers(columns(simulated(records=200, noise=0.2, judge_noise=noise, seed=2))).test(
            EPSILON
        )
        for noise in (0.15, 0.8)
    ]
    assert [(one.outcome, one.winning_rate) for one in outcomes] == [("passed", 1.0), ("shown worse", 0.0)]


def test_judge_in_between_is_not_shown_yet_and_needs_more_records() -> None:
    given = simulated(records=40, noise=0.2, judge_noise=0.22, seed=3)
    found = compare_with_reviewers(columns(given))
    assert found.test(0.1).outcome == "not shown yet"
    behind = [one for one in found.reviewers if not found.test(0.1).wins[one.reviewer]]
    missing = [one.missing_records(0.1, len(found.testable)) for one in behind]
    assert missing
    assert all(records is None or records > 0 for records in missing)
    assert any(records is not None for records in missing)


def test_number_of_missing_records_is_enough_if_the_difference_remains() -> None:
    given = simulated(records=60, noise=0.25, judge_noise=0.25, seed=5)
    [first, *_] = compare_with_reviewers(columns(given)).reviewers
    missing = first.missing_records(0.1, 3)
    assert missing is not None
    times = 1 + -(-missing // 60)
    repeated = [one._replace(record=one.record + 60 * turn) for turn in range(times) for one in given]
    [again, *_] = compare_with_reviewers(columns(repeated)).reviewers
    assert again.difference.value == pytest.approx(first.difference.value)
    assert again.p_value(0.1) <= 0.05 / (1 + 1 / 2 + 1 / 3)


def test_reviewers_with_few_records_are_not_tested() -> None:
    given = simulated(records=29, noise=0.1, judge_noise=0.1, seed=4)
    found = compare_with_reviewers(columns(given))
    assert found.test(0.2) == (0.2, None, (None, None, None), "not shown yet")
    assert found.advantage.why.startswith("No reviewer scored 30 records")
    assert len(found.reviewers) == 3


def test_records_of_one_task_count_as_dependent() -> None:
    given = simulated(records=40, noise=0.2, judge_noise=0.3, seed=6)
    copies = [one._replace(record=one.record + 40 * turn) for turn in range(5) for one in given]
    tasks = [one.record % 40 for one in copies]
    [once, *_] = compare_with_reviewers(columns(given)).reviewers
    [clustered, *_] = compare_with_reviewers(columns(copies, tasks)).reviewers
    assert clustered.error == pytest.approx(once.error)
    wide, narrow = (compare_with_reviewers(columns(copies, each)).advantage for each in (tasks, None))
    assert (wide.low or 0) < (narrow.low or 0) < (narrow.high or 0) < (wide.high or 0)
    assert (clustered.difference.n, clustered.freedom) == (200, 39)


def test_difference_has_a_width_if_all_records_agree() -> None:
    given = [Given(record, reviewer, 1, 1) for record in range(40) for reviewer in range(3)]
    found = compare_with_reviewers(columns(given))
    assert found.test(0.1).outcome == "passed"
    for one in found.reviewers:
        assert one.difference.value == 0
        assert (one.difference.low or 0) < 0 < (one.difference.high or 0)
        assert not one.difference.n < one.freedom


def test_weights_make_the_differences_those_of_the_population() -> None:
    """Records of the first kind, which the judge scores right, were drawn with a probability of 0.1."""
    kinds = [(record, record % 2) for record in range(200)]
    given = [Given(record, reviewer, 1, 1 - kind) for record, kind in kinds for reviewer in range(2)]
    ratings = columns(given)
    weight = np.where(ratings.judge == 1, 10.0, 1.0)
    found = compare_with_reviewers(
        JointRatings(ratings.record, ratings.reviewer, ratings.cluster, ratings.score, ratings.judge, weight)
    )
    assert [one.difference.value for one in found.reviewers] == pytest.approx([-1 / 11, -1 / 11])


def test_p_values_are_adjusted_by_benjamini_and_yekutieli() -> None:
    """Benjamini & Yekutieli 2001: the p-value of rank r is multiplied by n (1 + 1/2 + ... + 1/n) / r."""
    adjusted = benjamini_yekutieli([0.001, 0.04, 0.03, 0.012, 0.5])
    assert adjusted == pytest.approx([0.0114166667, 0.1141666667, 0.1141666667, 0.0685, 1.0])
    assert benjamini_yekutieli([0.3]) == pytest.approx([0.3])


@pytest.mark.exhaustive
def test_benjamini_yekutieli_matches_scipy() -> None:
    random = np.random.default_rng(7)
    for size in (1, 2, 5, 40):
        p = random.random(size) ** 3
        assert benjamini_yekutieli(list(p)) == pytest.approx(stats.false_discovery_control(p, method="by"))


@pytest.mark.slow
def test_judge_behind_by_epsilon_rarely_passes() -> None:
    """Both reviewers agree on all records, and the judge differs on a fifth of them."""
    random = np.random.default_rng(8)
    passed = 0
    for _ in range(200):
        right = random.random(200) >= 0.2
        given = [Given(record, one, 1, int(right[record])) for record in range(200) for one in range(2)]
        passed += compare_with_reviewers(columns(given)).test(0.2).outcome == "passed"
    assert passed <= 16  # 5% of 200, and two standard errors


def test_interval_of_a_judge_that_differs_once_allows_for_more_differences() -> None:
    """A judge that is further in 6% of records is so in at most one of 60 with a probability of 12%."""
    judge = [1, *[0] * 59]
    found = compare_with_reviewers(
        columns([Given(record, reviewer, 0, judge[record]) for record in range(60) for reviewer in (0, 1)])
    )
    [one, _] = found.reviewers
    assert one.difference.value == pytest.approx(-1 / 60)
    assert one.difference.low is not None
    assert one.difference.low < -0.06
    # The test is that of the paper.
    assert one.error == pytest.approx(1 / 60)
