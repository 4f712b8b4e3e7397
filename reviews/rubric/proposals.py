"""The judge's proposals for the criteria of a record: parsed, extracted from raw output, or blank."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from reviews.models import Evaluation
from reviews.records import extracted_scores
from reviews.records.criteria_order import in_file_order
from reviews.records.rubric import Rubric
from reviews.records.score_extraction import Repair
from reviews.records.scores import format_score


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
