"""A record as one person scores it: criteria, the scores to choose from, and those entered earlier."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from reviews.evidence.reading_time import count_words_to_read
from reviews.models import BlindScores, Evaluation, IndependentReview
from reviews.records import extracted_scores
from reviews.records.rubric import Rubric
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.scores import criterion_title, format_score, justification_of, score_of
from reviews.review import adjudication
from reviews.review.entries import (
    MAX_CRITERIA,
    CriterionEntry,
    Decision,
    EarlierScore,
    build_decision,
    clean_text,
    has_judges_text,
    same_text,
    score_input,
)
from reviews.rubric.proposals import Proposal, read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.rubric.score_input import ScoreInput

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


@dataclass(frozen=True, slots=True)
class ReviewSheet:
    """The basis of a form, of an API answer and of a decision."""

    evaluation: Evaluation
    rubric: Rubric
    #: The judge's proposals, at most `MAX_CRITERIA`. In a blind review they have no scores and texts.
    proposals: list[Proposal]
    #: Criterion -> the judge's justification, also in a blind review.
    judged_texts: Mapping[str, str]
    #: Criterion -> the score that a new form begins with, instead of the judge's.
    earlier: Mapping[str, EarlierScore]
    #: Where `earlier` is what independent reviews agree on.
    is_adjudication: bool
    #: In an adjudication, the justifications that reviewers wrote: criterion -> reviewer -> text.
    words: Mapping[str, Mapping[str, str]]
    #: Number of the judge's criteria beyond the limit.
    left_out: int
    #: The decision in the imported file, if none was made here.
    file_decision: FileDecision | None
    #: The comments of the decision so far, made here or in the file; in an adjudication, those that agree.
    comments: str

    def input(self, criterion: str) -> ScoreInput:
        """Return the scores that can be entered for a criterion."""
        proposal = next((one for one in self.proposals if one.criterion == criterion), None)
        return score_input(self.rubric, criterion, proposal, self.earlier.get(criterion))

    def clean_comments(self, comments: str) -> str:
        """Return earlier comments that come back unchanged exactly. Raises `ValueError` for others."""
        comments, earlier = comments.strip(), self.comments
        if same_text(comments, earlier.strip()):
            return earlier
        clean_text(comments)
        return comments

    def build_decision(self, entries: Sequence[CriterionEntry], comments: str) -> Decision:
        """Build the decision that the entries make. Raises `InvalidDecision`."""
        decision = build_decision(
            self.proposals, entries, self.rubric, earlier=self.earlier, comments=comments
        )
        is_extracted = "extracted" in decision["origins"].values()
        extracted = extracted_scores.read_extracted(self.evaluation) if is_extracted else None
        decision["extractor"] = extracted.version if extracted else None
        decision["words"] = count_words_to_read(self.evaluation, self.proposals)
        return decision


def load_sheet(
    evaluation: Evaluation,
    *,
    is_blind: bool = False,
    blind_scores: BlindScores | None = None,
    independent_reviews: Sequence[IndependentReview] = (),
) -> ReviewSheet:
    """Load the sheet of a record.

    `blind_scores` are those the reviewer has locked in; a lead decides between the `independent_reviews`.
    """
    rubric = run_rubric(evaluation.run)
    found = read_proposals(evaluation, rubric)
    judged = found[:MAX_CRITERIA]
    agreed = adjudication.agreed_scores(independent_reviews, judged)
    return ReviewSheet(
        evaluation=evaluation,
        rubric=rubric,
        proposals=[Proposal(one.criterion, None, "", "rubric", {}) for one in judged] if is_blind else judged,
        judged_texts={one.criterion: one.justification for one in judged},
        earlier={}
        if is_blind
        else agreed or _earlier_scores(evaluation, _blind_scores(blind_scores, judged), judged),
        is_adjudication=bool(agreed),
        words=adjudication.reviewers_words(independent_reviews, judged),
        left_out=len(found) - len(judged),
        file_decision=None if is_blind else find_file_decision(evaluation),
        comments=adjudication.agreed_comments(independent_reviews)
        if independent_reviews
        else _earlier_comments(evaluation),
    )


def _earlier_comments(evaluation: Evaluation) -> str:
    review = evaluation.review
    return (review.comments if review else evaluation.human_review_comments) or ""


def _earlier_scores(
    evaluation: Evaluation, locked_in: Mapping[str, EarlierScore], judged: Sequence[Proposal]
) -> Mapping[str, EarlierScore]:
    """Return the scores of the current decision, or else those locked in here, or else the file's.

    A criterion that the judge scored and the decision left out is excluded.
    """
    review = evaluation.review
    if review is None and locked_in:
        return locked_in
    scores = (review.corrected_scores if review else evaluation.human_corrected_scores) or {}
    causes, origins = (review.causes, review.origins) if review else ({}, {})
    known = (review.judged or {}) if review and scores else {}
    excluded = [one.criterion for one in judged if one.criterion in known and one.criterion not in scores]
    return {name: EarlierScore(name, None, "", "", is_excluded=True) for name in excluded} | {
        name: EarlierScore(
            name,
            score_of(entry),
            justification_of(entry),
            causes.get(name, ""),
            entry,
            is_in_file=review is None,
            has_judges_text=has_judges_text(entry, origins.get(name, "")),
        )
        for name, entry in scores.items()
    }


def _blind_scores(blind_scores: BlindScores | None, judged: Sequence[Proposal]) -> dict[str, EarlierScore]:
    """Return the scores the reviewer locked in, with the judge's texts; None for an excluded criterion."""
    if blind_scores is None:
        return {}
    texts: dict[str, Any] = {one.criterion: one.justification for one in judged}
    names = {**texts, **blind_scores.scores}
    return {
        name: EarlierScore(name, blind_scores.scores.get(name), texts.get(name, ""), "") for name in names
    }
