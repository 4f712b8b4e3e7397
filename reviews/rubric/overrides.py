"""Compare a decision with the judge's scores, to count overrides."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reviews.records.rubric import Rubric
from reviews.records.scores import identity, is_alike, is_score, score_of


class JudgeComparison(NamedTuple):
    """How a decision differs from the judge's scores. None means unknown."""

    #: The judge's criteria that the decision excludes, or gives a score that means something else.
    overridden: list[str] | None
    #: The number of these criteria, those without a score of the judge, and those with a cause.
    changes: int | None
    judged_verdict: str | None
    #: The verdict of the decision.
    verdict: str | None


def compare_with_judge(
    judged: Mapping[str, Any] | None,
    scores: Mapping[str, Mapping[str, Any]],
    causes: Mapping[str, str],
    rubric: Rubric,
    aggregated_score: str | None,
) -> JudgeComparison:
    """Compare a decision's entries with the judge's scores, criterion -> score (None if unknown).

    The judge's verdict is the record's `aggregated_score`, or else the verdict of the judge's scores.
    """
    verdict = rubric.verdict(scores)
    if judged is None:
        return JudgeComparison(None, None, None, verdict)
    overridden = [
        name
        for name, score in judged.items()
        if name not in scores or not is_alike(score, score_of(scores[name]))
    ]
    changed = {*overridden, *causes, *(name for name in scores if name not in judged)}
    judged_verdict = rubric.judge_verdict(aggregated_score, judged)
    return JudgeComparison(overridden, len(changed), judged_verdict, verdict)


def is_same_score(one: Any, other: Any) -> bool:
    """Return whether two scores are equal: 4 and 4.0 are, 4 and "4" are not, nor are "Yes" and "YES".

    Whether they mean the same is another question: see `is_alike`.
    """
    if not is_score(one) or not is_score(other):
        return bool(one == other)
    return bool(identity(one) == identity(other))
