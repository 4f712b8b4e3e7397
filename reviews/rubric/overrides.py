"""Compare a decision with the judge's scores, to count overrides."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reviews.records.scores import identity, is_score, score_of
from reviews.records.verdict import VERDICT_OF_LEVEL, VerdictRule


class JudgeComparison(NamedTuple):
    """Columns of a review. None stands for what is not known.

    `changes` is the number of criteria on which scores differ, that only one of the two scored, or where the
    reviewer says why the judge was wrong.
    """

    changes: int | None
    judged_verdict: str | None
    verdict: str | None


def compare_with_judge(
    judged: Mapping[str, Any] | None,
    scores: Mapping[str, Mapping[str, Any]],
    causes: Mapping[str, str],
    rule: VerdictRule,
    aggregated_score: str | None,
) -> JudgeComparison:
    """Compare the scores a reviewer stands by with the judge's, criterion -> score.

    The judge's verdict is the one of the record, or what its scores come to where that is none.
    """
    verdict = rule.verdict(scores)
    if judged is None:
        return JudgeComparison(None, None, verdict)
    changed = {name for name in {*judged, *scores} if not _is_same(judged, scores, name)}
    is_known = aggregated_score in VERDICT_OF_LEVEL.values()
    judged_verdict = aggregated_score if is_known else rule.aggregate(judged.values())
    return JudgeComparison(len(changed | {*causes}), judged_verdict, verdict)


def _is_same(judged: Mapping[str, Any], scores: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    if name not in judged or name not in scores:
        return False
    return is_same_score(judged[name], score_of(scores[name]))


def is_same_score(one: Any, other: Any) -> bool:
    if not is_score(one) or not is_score(other):
        return bool(one == other)
    return bool(identity(one) == identity(other))
