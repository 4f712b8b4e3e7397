"""Compare the independent reviews of a record, for the lead who adjudicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reviews.models import IndependentReview, Review, User
from reviews.records.scores import criterion_title, format_score, score_of
from reviews.review.forms.criterion import Earlier
from reviews.rubric.definition import Rubric
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal


@dataclass(frozen=True, slots=True)
class Said:
    """What one independent review says of a criterion. `score` is empty where it leaves the criterion out.

    `counts` is what the score counts as by the run's rule: yes, partial, no, or nothing.
    """

    reviewer: str
    score: str
    counts: str
    cause: str
    text: str
    is_judges_text: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The judge's score of a criterion and those of each independent review, in their order."""

    title: str
    judge: str
    judge_counts: str
    said: list[Said]
    differs: bool


@dataclass(frozen=True, slots=True)
class Voice:
    """An independent review as a whole: whose it is, what its scores come to, and its comments."""

    reviewer: str
    verdict: str
    comments: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The open independent reviews of a record. `is_own`: one of them is the reader's."""

    voices: list[Voice]
    rows: list[Row]
    is_own: bool

    @property
    def differing(self) -> int:
        return sum(row.differs for row in self.rows)

    @property
    def sentence(self) -> str:
        """How far apart they are."""
        if len(self.voices) == 1:
            return f"There is one independent review, by {self.voices[0].reviewer}."
        if not self.differing:
            return f"All {len(self.voices)} independent reviews agree."
        criteria = "criterion" if len(self.rows) == 1 else "criteria"
        return f"{len(self.voices)} disagreement on {self.differing} of {len(self.rows)} {criteria}."


def read(
    independent_reviews: Sequence[IndependentReview],
    proposals: Sequence[Proposal],
    rubric: Rubric,
    reader: User,
) -> SideBySide:
    """Lay the independent reviews out; `offers` are what the judge said."""
    offered = {proposal.criterion: proposal for proposal in proposals}
    reviews = [independent_review.review for independent_review in independent_reviews]
    voices = [Voice(one.reviewer.name, one.verdict or "", one.comments or "") for one in reviews]
    rows = [_row(name, reviews, offered.get(name), rubric) for name in _names(reviews, offered)]
    return SideBySide(voices, rows, any(review.reviewer == reader for review in reviews))


def agreed(
    independent_reviews: Sequence[IndependentReview], proposals: Sequence[Proposal]
) -> dict[str, Earlier]:
    """Return the scores to prefill a lead's form with: those that all reviews agree on.

    Without a score it has the judge's justification. Of no independent reviews there is nothing.
    """
    if not independent_reviews:
        return {}
    offered = {proposal.criterion: proposal for proposal in proposals}
    reviews = [independent_review.review for independent_review in independent_reviews]
    found: dict[str, Earlier] = {}
    for name in _names(reviews, offered):
        entry, proposal = (reviews[-1].corrected_scores or {}).get(name), offered.get(name)
        if entry is None or _differ(name, reviews):
            found[name] = Earlier(name, None, proposal.justification if proposal else "", "")
        else:
            found[name] = Earlier(name, score_of(entry), _text(entry), reviews[-1].causes.get(name, ""))
    return found


def _names(reviews: Sequence[Review], offered: dict[str, Proposal]) -> list[str]:
    """The criteria that the judge or anybody scored, in the order of the record."""
    scored = {name: None for review in reviews for name in review.corrected_scores or {}}
    return [*{**offered, **scored}]


def _row(name: str, reviews: Sequence[Review], proposal: Proposal | None, rubric: Rubric) -> Row:
    return Row(
        title=criterion_title(name),
        judge=proposal.word if proposal else "",
        judge_counts=(rubric.rule.level(proposal.score) if proposal else None) or "",
        said=[_said(name, review, proposal, rubric) for review in reviews],
        differs=_differ(name, reviews),
    )


def _said(name: str, review: Review, proposal: Proposal | None, rubric: Rubric) -> Said:
    entry = (review.corrected_scores or {}).get(name)
    text, cause = _text(entry), review.causes.get(name, "")
    known = rubric.cause(cause)
    return Said(
        reviewer=review.reviewer.name,
        score=format_score(score_of(entry)),
        counts=rubric.rule.level(score_of(entry)) or "",
        cause=known.title if known else cause,
        text=text,
        is_judges_text=bool(text) and proposal is not None and text == proposal.justification,
    )


def _differ(name: str, reviews: Sequence[Review]) -> bool:
    entries = [(review.corrected_scores or {}).get(name) for review in reviews]
    if None in entries:
        return any(entry is not None for entry in entries)
    return not all(is_same_score(score_of(entries[0]), score_of(entry)) for entry in entries)


def _text(entry: Any) -> str:
    text = entry.get("justification") if isinstance(entry, dict) else None
    return text if isinstance(text, str) else ""
