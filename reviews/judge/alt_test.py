"""Test whether the judge may replace a reviewer: see `statistics.alt_test`.

Counts blind ratings of flagged and sampled records that two or more reviewers scored. Each judge model has a
test of its own, for the verdict and for each criterion.
"""

from collections.abc import Iterator
from math import ceil

import numpy as np

from cognireview.types.report_parts import AltTest, ComparedReviewer, Epsilon
from reviews.judge.cells import FEWEST
from reviews.judge.joint_ratings import JointRatings, load_joint_ratings
from reviews.judge.scope import JudgeScope
from reviews.models import User
from reviews.records.wording import counted
from reviews.statistics import alt_test as statistics
from reviews.statistics.alt_test import (
    ENOUGH_WINS,
    FEWEST_RECORDS,
    FEWEST_REVIEWERS,
    EpsilonTest,
    ReviewerComparison,
)

#: How much less often the judge may be the closer one -> the reviewers for whom Calderon et al. suggest it.
EPSILONS = {0.2: "experts", 0.15: "trained reviewers", 0.1: "crowd workers"}
DEFINITIONS = {
    "winning_rate": "Whether the judge may do a reviewer's work. It passes if it can replace at least half "
    "of the reviewers.\n\n"
    "The winning rate \N{GREEK SMALL LETTER OMEGA} is the share of reviewers whom the judge can replace. "
    "Calderon, Reichart & Dror 2025, ACL, pp. 16051-16081: a one-sided t-test for each reviewer, "
    "over tasks, with Benjamini & Yekutieli's adjustment (false discovery rate 5%).",
    "epsilon": "How much worse than a reviewer the judge may be, because it is cheaper. Experts deserve a "
    "larger allowance than crowd workers.\n\n"
    "\N{GREEK SMALL LETTER EPSILON} is how much less often than a reviewer the judge may be the closer one "
    "to the other reviewers: 0.2 compared with experts, 0.15 with trained reviewers, 0.1 with crowd workers "
    "(Calderon, Reichart & Dror 2025).",
    "advantage": "How often the judge agrees with the reviewers at least as well as one of them. Compare "
    "judges by this figure.\n\n"
    "The average probability that the judge is at least as close to the other reviewers as the reviewer whom "
    f"it replaces (Calderon, Reichart & Dror 2025), over the reviewers with {FEWEST_RECORDS} records or "
    "more. Compare judges only if these are the same reviewers.",
    "judge_closer": "How often the judge does at least as well as this reviewer. Both do if they are equally "
    "close to the others.\n\n"
    "The share of records on which the judge's score equals those of at least as many other reviewers as "
    "this reviewer's score.",
    "reviewer_closer": "How often this reviewer does at least as well as the judge. Both do if they are "
    "equally close to the others.\n\n"
    "The share of records on which this reviewer's score equals those of at least as many other reviewers as "
    "the judge's score.",
    "difference": "How much more often the judge is closer to the other reviewers than this reviewer. To the "
    "left of 0, the reviewer is closer.\n\n"
    "The records on which the judge is closer minus those on which the reviewer is, as a share of all "
    "records that they scored together. Closer means: the same score as more of the others.",
}
_NAMED = 5


def run_alt_tests(scope: JudgeScope) -> list[AltTest]:
    """Test each judge of a scope: the verdict first, then the criteria in the order of the rubric.

    Without a record that two reviewers scored blind, the result is empty. The filter by reviewer is ignored.
    Takes three queries.
    """
    by_criterion = load_joint_ratings(scope)
    people = {key for ratings in by_criterion.values() for key in np.unique(ratings.reviewer).tolist()}
    names = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    return [
        found
        for criterion, ratings in by_criterion.items()
        for judge in sorted({kind.cell.judge for kind in ratings.kinds})
        if (found := _test(judge, criterion, ratings, names)).records
    ]


def _test(judge: str, criterion: str | None, ratings: JointRatings, names: dict[int, str]) -> AltTest:
    ratings = ratings.only(lambda kind: kind.cell.judge == judge and kind.is_representative)
    human, machine = ratings.human, ratings.judge
    columns = statistics.JointRatings(
        ratings.record, ratings.reviewer, ratings.cluster, human, machine, ratings.weight
    )
    found = statistics.compare_with_reviewers(columns.only((human >= 0) & (machine >= 0)))
    return AltTest(
        judge,
        criterion,
        found.records,
        found.advantage,
        [
            ComparedReviewer(
                names[one.reviewer], one.judge_closer, one.reviewer_closer, one.difference, one.is_testable
            )
            for one in found.reviewers
            # A figure from fewer could reveal the judge's scores of records that are still scored blind.
            if one.difference.n >= FEWEST
        ],
        [_answer(found, found.test(epsilon), names) for epsilon in EPSILONS],
    )


def _answer(found: statistics.AltTest, test: EpsilonTest, names: dict[int, str]) -> Epsilon:
    won = [one for one, wins in zip(found.reviewers, test.wins, strict=True) if wins]
    return Epsilon(
        test.epsilon,
        EPSILONS[test.epsilon],
        test.winning_rate,
        len(found.testable),
        test.outcome,
        [names[one.reviewer] for one in won],
        " ".join(_missing(found, test, names)) if test.outcome == "not shown yet" else "",
    )


def _missing(found: statistics.AltTest, test: EpsilonTest, names: dict[int, str]) -> Iterator[str]:
    """Yield what an answer needs."""
    if test.winning_rate is None:
        needs = {one: FEWEST_RECORDS - one.difference.n for one in found.reviewers if not one.is_testable}
        yield (
            f"The test needs {FEWEST_REVIEWERS} reviewers who each scored {FEWEST_RECORDS} records, of "
            f"several tasks, that others scored as well."
        )
        if few := {one: records for one, records in needs.items() if records > 0}:
            yield f"Missing: {_listed(few, names)}."
        return
    tested = len(found.testable)
    missing = ceil(tested * ENOUGH_WINS) - sum(map(bool, test.wins))
    needs = {
        one: records
        for one, wins in zip(found.reviewers, test.wins, strict=True)
        if wins is False and (records := one.missing_records(test.epsilon, tested)) is not None
    }
    if len(needs) < missing:
        yield "More records alone do not help: the judge is too far behind the reviewers."
    else:
        least = dict(sorted(needs.items(), key=lambda item: item[1])[:missing])
        yield f"If the differences stay the same, these more records are enough: {_listed(least, names)}."


def _listed(needs: dict[ReviewerComparison, int], names: dict[int, str]) -> str:
    least = sorted(needs, key=lambda one: (needs[one], names[one.reviewer]))
    listed = [f"{counted(needs[one], 'record')} by {names[one.reviewer]}" for one in least]
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return f"{', '.join(listed[:_NAMED])}{more}"
