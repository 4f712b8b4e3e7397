"""Read the decisions and blind scores that programs send."""

import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from ninja import Field

from reviews.api.bodies import Body
from reviews.api.problems import Problem
from reviews.api.values import ScoreOrNull
from reviews.models import BlindScores, Evaluation, IndependentReview, Review
from reviews.records.scores import justification_of, score_of
from reviews.review.entries import CriterionEntry, Decision, EntryError, InvalidDecision
from reviews.review.forms.fields import FormRow, encode_fields
from reviews.review.sheet import ReviewSheet, load_sheet


class EntryIn(Body):
    """A score and its justification.

    Without a justification, the text of the decision so far is kept if its score is the same, or else the
    judge's text.
    """

    score: ScoreOrNull
    justification: str | None = None


class DecisionIn(Body):
    """A score for every criterion of the record and of its `file_decision`, or null to exclude it."""

    corrected_scores: dict[str, EntryIn | None]
    comments: str | None = Field(
        default=None,
        description="If left out, the comments of the current decision or of `file_decision` are kept. "
        "Null or an empty text removes them.",
    )
    causes: dict[str, str] = Field(default={}, description="Criterion -> why the judge was wrong.")
    version: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="The record's version when it was read. A decision on an older version is refused.",
    )

    @property
    def has_comments(self) -> bool:
        """Whether `comments` was sent, also as null."""
        return "comments" in self.model_fields_set


class BlindIn(Body):
    """Criterion -> score, for every criterion; null excludes one."""

    scores: dict[str, ScoreOrNull]
    version: int | None = Field(default=None, ge=1, le=2**31 - 1)


def decision_arguments(
    record: Evaluation,
    sent: DecisionIn,
    submission: uuid.UUID,
    blind_scores: BlindScores | None,
    independent_reviews: Sequence[IndependentReview] = (),
) -> dict[str, Any]:
    """Return the arguments of `decisions.submit`. Raises `Problem` (422) with the errors by field.

    `independent_reviews` are those that the person decides between.
    """
    sheet = load_sheet(record, blind_scores=blind_scores, independent_reviews=independent_reviews)
    entries = {
        name: CriterionEntry(name, None, is_excluded=True)
        if entry is None
        else CriterionEntry(name, entry.score, entry.justification, sent.causes.get(name, ""))
        for name, entry in sent.corrected_scores.items()
    }
    unknown = [name for name in sent.causes if sent.corrected_scores.get(name) is None]
    errors = [EntryError(None, name, "cause", "There is no score for this criterion.") for name in unknown]
    comments = sheet.comments
    if sent.has_comments:
        try:
            comments = sheet.clean_comments(sent.comments or "")
        except ValueError as error:
            errors.append(EntryError(None, "", "comments", str(error)))
    decision = _build(sheet, entries, "corrected_scores", errors, comments)
    version = record.version if sent.version is None else sent.version
    return {**decision, "version": version, "submission": submission}


def lock_in_arguments(record: Evaluation, sent: BlindIn) -> dict[str, Any]:
    """Return the arguments of `blind_scoring.lock_in`. Raises `Problem` (422) with the errors by field."""
    sheet = load_sheet(record, is_blind=True)
    entries = {
        name: CriterionEntry(name, score, "", is_excluded=score is None)
        for name, score in sent.scores.items()
    }
    decision = _build(sheet, entries, "scores", [])
    rows = [
        FormRow(name, sheet.input(name).encode(entry.score), is_removed=entry.is_excluded)
        for name, entry in entries.items()
    ]
    return {
        "version": record.version if sent.version is None else sent.version,
        "scores": {name: entry["score"] for name, entry in decision["scores"].items()},
        "fields": encode_fields(rows, sheet.comments),
        "active_ms": None,
    }


def _build(
    sheet: ReviewSheet,
    entries: Mapping[str, CriterionEntry],
    field: str,
    errors: list[EntryError],
    comments: str = "",
) -> Decision:
    """Build the decision, and raise `Problem` for these errors and those of the entries."""
    in_file = sheet.file_decision.scores if sheet.file_decision else {}
    proposed = {proposal.criterion for proposal in sheet.proposals}
    # A program that does not know the file's decision must not drop criteria of it.
    errors += [
        EntryError(None, name, "", "Missing: give a score, or null to exclude the criterion.")
        for name in in_file
        if name not in entries and name not in proposed
    ]
    decision: Decision = {"scores": {}, "comments": "", "origins": {}}
    try:
        decision = sheet.build_decision([*entries.values()], comments)
    except InvalidDecision as invalid:
        errors = [*invalid.errors, *errors]
    if errors:
        found = [(_place(field, error), error.reason) for error in errors]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "Nothing was saved: the decision has errors.", found)
    return decision


def _place(field: str, error: EntryError) -> str:
    """Return the name of a field in the body, such as `corrected_scores.Clarity.score`."""
    if error.field == "comments":
        return "comments"
    if error.field == "cause":
        return f"causes.{error.criterion}"
    is_whole = error.position is None or (field == "scores" and error.field == "score")
    parts = (field, error.criterion, "" if is_whole else error.field)
    return ".".join(part for part in parts if part)


def is_same_decision(sent: DecisionIn, saved: Review) -> bool:
    """Return whether a saved review can come from this body. Spaces and line ends in texts do not count."""
    scores = {name.strip(): entry for name, entry in (saved.corrected_scores or {}).items()}
    entries = {name.strip(): entry for name, entry in sent.corrected_scores.items() if entry is not None}
    causes = {name.strip(): cause for name, cause in sent.causes.items()}
    return (
        {name: score_of(entry) for name, entry in scores.items()}
        == {name: entry.score for name, entry in entries.items()}
        and all(
            entry.justification is None
            or entry.justification.split() == justification_of(scores[name]).split()
            for name, entry in entries.items()
        )
        and (not sent.has_comments or (sent.comments or "").split() == (saved.comments or "").split())
        # A cause is saved only where the score differs from the judge's.
        and saved.causes.items() <= causes.items()
    )
