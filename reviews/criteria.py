"""The criteria of a record as the judge left them, parsed by the pipeline or read out of raw output."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviews.models import Evaluation, SourceChunk
from reviews.record import LineError, parse_line
from reviews.salvage import salvage
from reviews.source import kept_line

LEVELS = ("Yes", "Partial", "No")
# Stands for the judge's own word where that is none of the levels, so that a number stays a number.
AS_JUDGED = "as judged"
_MAX_WORD = 200


@dataclass(frozen=True, slots=True)
class Offer:
    """A criterion the record brings: what the judge said, read by the pipeline or out of raw output.

    `score` is the judge's own JSON scalar, None where there is none; `given` is the judge's whole entry.
    """

    criterion: str
    score: Any
    justification: str
    origin: str
    given: Mapping[str, Any]
    repairs: tuple[str, ...] = ()
    span: tuple[int, int] | None = None

    @property
    def level(self) -> str:
        """What the form posts for the judge's score."""
        if self.score in (None, ""):
            return ""
        return str(self.score) if self.score in LEVELS else AS_JUDGED

    @property
    def word(self) -> str:
        return score_word(self.score)


def score_word(score: Any) -> str:
    """A score as people read it: a number or truth value as JSON spells it, nothing for none."""
    if score is None:
        return ""
    return score[:_MAX_WORD] if isinstance(score, str) else json.dumps(score)[:_MAX_WORD]


def criterion_title(name: str) -> str:
    """A criterion's name as people read it."""
    words = name.replace("_", " ").strip()[:_MAX_WORD]
    return words[:1].upper() + words[1:]


def offers(evaluation: Evaluation) -> list[Offer]:
    """The criteria the judge scored, or those that can be read out of its raw output."""
    if evaluation.parsed_rubric_scores:
        return [_judged(name, evaluation.parsed_rubric_scores[name]) for name in _names(evaluation)]
    found = salvage(evaluation.raw_judge_output).proposals
    return [
        Offer(
            criterion=proposal.criterion,
            score=proposal.score,
            justification=proposal.justification,
            origin="extracted",
            given={"score": proposal.score, "justification": proposal.justification},
            repairs=proposal.repairs,
            span=proposal.span,
        )
        for proposal in found
    ]


def _names(evaluation: Evaluation) -> list[str]:
    """The criteria in the order of the file: people know them by their place, and jsonb sorts keys."""
    mirrored = evaluation.parsed_rubric_scores
    try:
        kept = parse_line(kept_line(evaluation.source_import_id, evaluation.source_line))
    except (SourceChunk.DoesNotExist, LineError):
        return list(mirrored)
    in_file = [name for name in kept.parsed_rubric_scores if name in mirrored]
    return in_file if len(in_file) == len(mirrored) else list(mirrored)


def _judged(name: str, entry: Any) -> Offer:
    given = entry if isinstance(entry, dict) else {"score": entry, "justification": ""}
    score, justification = given.get("score"), given.get("justification")
    return Offer(
        criterion=name,
        score=None if isinstance(score, dict | list) else score,
        justification=justification if isinstance(justification, str) else "",
        origin="judge",
        given=given,
    )
