"""A human decision in an imported file. Its entries may be any JSON value."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from reviews.models import Evaluation
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.scores import criterion_title, format_score, justification_of, score_of

MAX_ROWS = 150


class FileScore(NamedTuple):
    title: str
    score: str
    text: str


@dataclass(frozen=True, slots=True)
class FileDecision:
    """The human_* values of a record without a decision made here."""

    #: Empty if the file names no reviewer.
    reviewer: str
    at: dt.datetime | None
    file_name: str
    line: int
    #: Criterion -> entry, any JSON value.
    scores: Mapping[str, Any]
    comments: str

    @property
    def rows(self) -> list[FileScore]:
        """The first criteria, at most `MAX_ROWS`."""
        return [
            FileScore(criterion_title(name), format_score(score_of(entry)), justification_of(entry))
            for name, entry in islice(self.scores.items(), MAX_ROWS)
        ]

    @property
    def rows_left_out(self) -> int:
        return max(0, len(self.scores) - MAX_ROWS)


def find_file_decision(evaluation: Evaluation) -> FileDecision | None:
    """Return the decision in the record's line; None without one, or if a decision was made here."""
    if evaluation.review_id is not None or not any(
        getattr(evaluation, name) for name in HUMAN_FIELDS if name != "human_review_status"
    ):
        return None
    return FileDecision(
        reviewer=evaluation.human_reviewer_id or "",
        at=evaluation.human_review_timestamp,
        file_name=evaluation.source_import.file_name,
        line=evaluation.source_line,
        scores=evaluation.human_corrected_scores or {},
        comments=evaluation.human_review_comments or "",
    )
