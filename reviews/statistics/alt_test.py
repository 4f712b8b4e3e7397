"""Run the alternative annotator test, which says whether a judge may replace one of several reviewers.

Calderon, Reichart & Dror 2025, ACL, pp. 16051-16081. Each reviewer in turn is compared with the judge: which
of the two is closer to the other reviewers of the same records? The judge wins against a reviewer if it is
shown to be the closer one almost as often, less often by at most epsilon. It passes if it wins against at
least half of the reviewers.

The test differs from the paper in two points: records have weights, and records of one cluster (a task) are
dependent. With equal weights and a cluster for each record, it is the paper's paired t-test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, sqrt
from typing import Literal, NamedTuple

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.intervals import SIGNIFICANT, undefined, wilson_limits, with_two_more
from reviews.statistics.strata import IntArray
from reviews.statistics.students_t import t_quantile, t_tail
from reviews.statistics.sums import BoolArray, Columns, FloatArray

_NEGLIGIBLE = 1e-12  # a smaller variance is rounding noise
# The paper asks for 30 records of each reviewer, and for at least two reviewers.
FEWEST_RECORDS = 30
FEWEST_REVIEWERS = 2
ENOUGH_WINS = 0.5
_MOST_TIMES = 100

Outcome = Literal["passed", "shown worse", "not shown yet"]


@dataclass(frozen=True, eq=False)
class JointRatings(Columns):
    """Scores of several reviewers and of the judge for the same records, as columns of equal length."""

    record: IntArray
    reviewer: IntArray
    #: The cluster of the record, from 0.
    cluster: IntArray
    #: The reviewer's score, as the number of a category.
    score: IntArray
    #: The judge's score of the record, as the number of a category.
    judge: IntArray
    #: The inverse of the probability with which the record was drawn.
    weight: FloatArray


@dataclass(frozen=True, slots=True)
class ReviewerComparison:
    """The judge compared with one reviewer, on the records that they and others scored."""

    reviewer: int
    #: The share of records on which the judge is at least as close to the others as the reviewer.
    judge_closer: float
    #: The share of records on which the reviewer is at least as close to the others as the judge.
    reviewer_closer: float
    #: The first share minus the second, with its 95% interval. `n` counts records.
    difference: Estimate
    #: The standard error of the difference in the test.
    error: float
    #: The degrees of freedom: the number of clusters less one.
    freedom: int

    @property
    def is_testable(self) -> bool:
        return self.difference.n >= FEWEST_RECORDS and self.freedom > 0

    def p_value(self, epsilon: float, *, is_worse: bool = False) -> float:
        """Return the one-sided p-value that the judge is not behind by more than epsilon, or that it is."""
        value = ((self.difference.value or 0.0) + epsilon) / self.error
        tail = t_tail(value, self.freedom) / 2
        return tail if (value > 0) != is_worse else 1 - tail

    def missing_records(self, epsilon: float, tests: int) -> int | None:
        """Return how many more records would show that the judge wins, if the difference remains as it is.

        None if even a hundred times as many records would not. `tests` is the number of reviewers.
        """
        value = ((self.difference.value or 0.0) + epsilon) / self.error
        needed = t_quantile(self.freedom, 1 - 2 * SIGNIFICANT / _harmonic(tests))
        if value <= needed / sqrt(_MOST_TIMES):
            return None
        return max(1, ceil(self.difference.n * ((needed / value) ** 2 - 1)))


class EpsilonTest(NamedTuple):
    """The outcome for one epsilon."""

    epsilon: float
    #: The share of reviewers against whom the judge wins. None if too few can be tested.
    winning_rate: float | None
    #: For each compared reviewer, whether the judge wins. None if the reviewer has too few records.
    wins: tuple[bool | None, ...]
    outcome: Outcome


@dataclass(frozen=True)
class AltTest:
    """The judge compared with each reviewer."""

    #: The records with scores of two or more reviewers.
    records: int
    reviewers: tuple[ReviewerComparison, ...]
    #: The average probability that the judge is at least as close to the others as a reviewer, over the
    #: reviewers with enough records.
    advantage: Estimate

    @cached_property
    def testable(self) -> tuple[ReviewerComparison, ...]:
        """The reviewers with enough records."""
        return tuple(one for one in self.reviewers if one.is_testable)

    def test(self, epsilon: float) -> EpsilonTest:
        """Test with an epsilon from 0 to 1: how much less often the judge may be the closer one."""
        tested = self.testable
        if len(tested) < FEWEST_REVIEWERS:
            return EpsilonTest(epsilon, None, (None,) * len(self.reviewers), "not shown yet")
        wins, losses = (
            [p <= SIGNIFICANT for p in benjamini_yekutieli(found)]
            for found in (
                [one.p_value(epsilon) for one in tested],
                [one.p_value(epsilon, is_worse=True) for one in tested],
            )
        )
        rate = sum(wins) / len(tested)
        is_worse = sum(losses) / len(tested) > 1 - ENOUGH_WINS
        won = dict(zip((one.reviewer for one in tested), wins, strict=True))
        return EpsilonTest(
            epsilon,
            rate,
            tuple(won.get(one.reviewer) for one in self.reviewers),
            "passed" if rate >= ENOUGH_WINS else "shown worse" if is_worse else "not shown yet",
        )


def compare_with_reviewers(ratings: JointRatings) -> AltTest:
    """Compare the judge with each reviewer. Ratings of records with a single reviewer are ignored.

    Closeness to the others is the share of them who gave the same score.
    """
    _, record, raters = np.unique(ratings.record, return_inverse=True, return_counts=True)
    several = raters[record] > 1
    if not several.any():
        return AltTest(0, (), undefined("No record has scores of two reviewers and of the judge."))
    record, judge, score = record[several], ratings.judge[several], ratings.score[several]
    others = raters[record] - 1
    categories = int(max(judge.max(), score.max())) + 1
    given = np.bincount(record * categories + score, minlength=len(raters) * categories)
    reviewer_agrees = (given[record * categories + score] - 1) / others
    judge_agrees = (given[record * categories + judge] - (judge == score)) / others
    rows = _Rows(
        judge_closer=judge_agrees >= reviewer_agrees,
        reviewer_closer=reviewer_agrees >= judge_agrees,
        cluster=ratings.cluster[several],
        weight=ratings.weight[several],
    )
    reviewer = ratings.reviewer[several]
    of_each = {int(one): rows.only(reviewer == one) for one in np.unique(reviewer)}
    compared = tuple(_compare(one, theirs) for one, theirs in of_each.items())
    tested = [of_each[one.reviewer] for one in compared if one.is_testable]
    return AltTest(int(np.count_nonzero(raters > 1)), compared, _advantage(tested))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Records of one or several reviewers, as columns."""

    judge_closer: BoolArray
    reviewer_closer: BoolArray
    cluster: IntArray
    weight: FloatArray

    def only(self, kept: BoolArray) -> "_Rows":
        """Return some rows. Their weights sum to 1."""
        weight = self.weight[kept]
        return _Rows(
            self.judge_closer[kept], self.reviewer_closer[kept], self.cluster[kept], weight / weight.sum()
        )


def _compare(reviewer: int, rows: _Rows) -> ReviewerComparison:
    of_judge, of_reviewer = (
        min(1.0, float(rows.weight @ closer)) for closer in (rows.judge_closer, rows.reviewer_closer)
    )
    value, n = of_judge - of_reviewer, len(rows.weight)
    residuals = rows.weight * (rows.judge_closer.astype(float) - rows.reviewer_closer - value)
    variance, freedom = _variance(residuals, rows.cluster)
    # The test has the variance of the paper: the interval of few different outcomes would be too narrow.
    wider = with_two_more(variance, 1 / float(rows.weight @ rows.weight), freedom)
    reach = t_quantile(freedom) * sqrt(wider)
    difference = Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), n)
    error = sqrt(variance if variance >= _NEGLIGIBLE else with_two_more(0.0, n, n - 1))
    return ReviewerComparison(reviewer, of_judge, of_reviewer, difference, error, freedom)


def _advantage(tested: Sequence[_Rows]) -> Estimate:
    """Return the mean probability over reviewers. Interval: Wilson at the effective number of records."""
    n = sum(len(rows.weight) for rows in tested)
    if not tested:
        return undefined(
            f"No reviewer scored {FEWEST_RECORDS} records of several tasks together with others."
        )
    shares = [float(rows.weight @ rows.judge_closer) for rows in tested]
    value = min(1.0, sum(shares) / len(shares))
    residuals = [
        rows.weight * (rows.judge_closer - share) / len(tested)
        for rows, share in zip(tested, shares, strict=True)
    ]
    variance, freedom = _variance(
        np.concatenate(residuals), np.concatenate([rows.cluster for rows in tested])
    )
    effective = freedom + 1 if variance < _NEGLIGIBLE else value * (1 - value) / variance
    return Estimate(value, *wilson_limits(value, max(1.0, effective), t_quantile(freedom)), n)


def _variance(residuals: FloatArray, cluster: IntArray) -> tuple[float, int]:
    """Return the variance of a sum by cluster, and its degrees of freedom."""
    sums = np.bincount(cluster, residuals)
    clusters = int(np.count_nonzero(np.bincount(cluster)))
    freedom = clusters - 1
    return (float(sums @ sums) * clusters / freedom if freedom else inf), freedom


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values, so that those below q have a false discovery rate of at most q under any dependence.

    Benjamini & Yekutieli 2001, Annals of Statistics 29:1165.
    """
    tests = len(p_values)
    adjusted = [1.0] * tests
    smallest = 1.0
    for rank, place in reversed([*enumerate(sorted(range(tests), key=p_values.__getitem__), 1)]):
        smallest = min(smallest, p_values[place] * tests * _harmonic(tests) / rank)
        adjusted[place] = smallest
    return adjusted


def _harmonic(tests: int) -> float:
    return sum(1 / rank for rank in range(1, tests + 1))
