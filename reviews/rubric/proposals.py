"""The judge's proposals for the criteria of a record: parsed, extracted from raw output, or blank."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from reviews.models import Evaluation
from reviews.records import extracted_scores
from reviews.records.criteria_order import in_file_order
from reviews.records.rubric import Rubric
from reviews.records.score_extraction import Repair
from reviews.records.scores import format_score, identity, is_alike, is_score, score_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """A criterion to score, with the judge's score and justification if there are any."""

    criterion: str
    #: The judge's score, a JSON scalar; None without one.
    score: Any
    justification: str
    #: judge (parsed by the pipeline), extracted (from raw output) or rubric (the record lacks the criterion).
    origin: str
    #: The judge's whole entry; empty if the record lacks the criterion.
    given: Mapping[str, Any]
    #: Repairs to the raw output that were needed to read the criterion.
    repairs: tuple[Repair, ...] = ()
    #: Start and end of the criterion in the raw output.
    span: tuple[int, int] | None = None

    @property
    def word(self) -> str:
        return format_score(self.score)

    @property
    def fingerprint(self) -> str:
        """A short hash of the judge's score and justification."""
        return blake2b(repr((self.score, self.justification)).encode(), digest_size=6).hexdigest()


def read_proposals(evaluation: Evaluation, rubric: Rubric) -> list[Proposal]:
    """Return the criteria of a record and those of the rubric, in the order of the rubric.

    A criterion that the record lacks is blank. If the rubric has less than half of the record's criteria, the
    record was scored by another rubric, and only the record's own criteria are returned.
    """
    found = read_own_proposals(evaluation)
    names = {proposal.criterion for proposal in found}
    if 2 * len(names.intersection(rubric.names)) < len(names):
        return found
    blank = (Proposal(name, None, "", "rubric", {}) for name in rubric.names if name not in names)
    places = {name: place for place, name in enumerate(rubric.names)}
    return sorted([*found, *blank], key=lambda proposal: places.get(proposal.criterion, len(places)))


def read_own_proposals(evaluation: Evaluation) -> list[Proposal]:
    """Return the record's own criteria, in the order of the file or of the raw output."""
    if evaluation.parsed_rubric_scores:
        judged = evaluation.parsed_rubric_scores
        return [_judged(name, judged[name]) for name in in_file_order(judged, evaluation.criteria_order)]
    return [
        Proposal(
            criterion=proposal.criterion,
            score=proposal.score,
            justification=proposal.justification,
            origin="extracted",
            given={"score": proposal.score, "justification": proposal.justification},
            repairs=proposal.repairs,
            span=proposal.span,
        )
        for proposal in extracted_scores.read_extracted(evaluation).proposals
    ]


def _judged(name: str, entry: Any) -> Proposal:
    given = entry if isinstance(entry, dict) else {"score": entry, "justification": ""}
    score, justification = given.get("score"), given.get("justification")
    return Proposal(
        criterion=name,
        score=None if isinstance(score, dict | list) else score,
        justification=justification if isinstance(justification, str) else "",
        origin="judge",
        given=given,
    )


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
