"""A human decision in an imported file.

The fields of a file may hold anything that is JSON, so entries need not have the shape of our own decisions.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from reviews.models import Evaluation
from reviews.records.scores import criterion_title, format_score, justification_of, score_of

MOST_ROWS = 150


class FileScore(NamedTuple):
    """A criterion of the decision, as people read it."""

    title: str
    score: str
    text: str


@dataclass(frozen=True, slots=True)
class FileDecision:
    """The human_* values of a record that nobody has decided here."""

    # Empty where the file names nobody, and None where it gives no time.
    reviewer: str
    at: dt.datetime | None
    file_name: str
    line: int
    # Criterion -> entry as the file has it: any JSON value.
    scores: Mapping[str, Any]
    comments: str

    @property
    def rows(self) -> list[FileScore]:
        """The first criteria, at most `MOST_ROWS`."""
        shown = [*self.scores.items()][:MOST_ROWS]
        return [
            FileScore(criterion_title(name), format_score(score_of(entry)), justification_of(entry))
            for name, entry in shown
        ]

    @property
    def rows_left_out(self) -> int:
        return max(0, len(self.scores) - MOST_ROWS)


def find_file_decision(evaluation: Evaluation) -> FileDecision | None:
    """Return the decision that a record's line holds, unless it holds none or one was made here."""
    is_there = (
        evaluation.human_reviewer_id
        or evaluation.human_review_timestamp
        or evaluation.human_corrected_scores
        or evaluation.human_review_comments
    )
    if evaluation.review_id is not None or not is_there:
        return None
    return FileDecision(
        reviewer=evaluation.human_reviewer_id or "",
        at=evaluation.human_review_timestamp,
        file_name=evaluation.source_import.file_name,
        line=evaluation.source_line,
        scores=evaluation.human_corrected_scores or {},
        comments=evaluation.human_review_comments or "",
    )
