"""Scores as rows, one for each criterion of a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cognireview.client.errors import CogniReviewError
from cognireview.types.records import Record


@dataclass(frozen=True)
class ScoreRow:
    """A criterion of a record, with the judge's and the human's score. A missing score is None."""

    evaluation_id: str
    task_id: str | None
    model_id: str | None
    criterion: str
    judge: Any
    judge_justification: str | None
    human: Any
    human_justification: str | None
    #: judge, or extracted from raw judge output; rubric if the judge gave no score.
    origin: str


def has_parsed_scores(line: Mapping[str, Any]) -> bool:
    """Return whether the line has the judge's scores, and not only its raw output.

    Raises `CogniReviewError` for a line of another tool, whose scores only its mapping finds.
    """
    if "evaluation_id" not in line:
        raise CogniReviewError(
            "The lines of this run are those of another tool: read its scores with records() and record()."
        )
    return bool(line.get("parsed_rubric_scores"))


def rows_of_line(line: Mapping[str, Any]) -> list[ScoreRow]:
    """Return the rows of an exported line with parsed scores."""
    judge = {name: _entry(value) for name, value in line["parsed_rubric_scores"].items()}
    return _rows(line, judge, {})


def rows_of_record(line: Mapping[str, Any], record: Record) -> list[ScoreRow]:
    """Return the rows of an exported line whose scores CogniReview extracted, or nobody gave."""
    scored = [one for one in record.criteria if one.score is not None]
    judge = {one.criterion: (one.score, one.justification) for one in scored}
    return _rows(line, judge, {one.criterion: one.origin for one in scored})


def _rows(
    line: Mapping[str, Any], judge: Mapping[str, tuple[Any, Any]], origins: Mapping[str, str]
) -> list[ScoreRow]:
    given = line.get("human_corrected_scores") or {}
    human = {name: _entry(value) for name, value in given.items()}
    missing = (None, None)
    return [
        ScoreRow(
            str(line["evaluation_id"]),
            _text(line.get("task_id")),
            _text(line.get("model_id")),
            criterion,
            *judge.get(criterion, missing),
            *human.get(criterion, missing),
            origins.get(criterion, "judge" if criterion in judge else "rubric"),
        )
        for criterion in dict.fromkeys([*judge, *human])
    ]


def _entry(value: Any) -> tuple[Any, Any]:
    """Return score and justification. The scores of a file may have any shape."""
    if isinstance(value, Mapping):
        return value.get("score"), value.get("justification")
    return value, None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
