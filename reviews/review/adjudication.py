"""Compare the independent reviews of a record, for the lead who adjudicates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reviews.models import IndependentReview, Review, User
from reviews.records.rubric import Rubric
from reviews.records.scores import format_score, is_alike, justification_of, score_of
from reviews.review.entries import EarlierScore, has_judges_text, same_text, score_input
from reviews.rubric.proposals import Proposal


class TakenValues(NamedTuple):
    """Values for the form of a criterion when the lead takes a reviewer's score."""

    #: The form value of the score; empty if the reviewer excluded the criterion.
    score: str
    cause: str
    #: The reviewer's own words; empty for the judge's.
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewerScore:
    reviewer: str
    #: Empty if the reviewer excluded the criterion.
    score: str
    #: The level of the score by the run's rule: yes, partial or no; empty without a level.
    counts: str
    #: The title of the cause.
    cause: str
    text: str
    is_judges_text: bool
    #: The values that the form takes over for the criterion.
    taken: TakenValues


@dataclass(frozen=True, slots=True)
class CriterionComparison:
    """The scores of one criterion, in the order of the independent reviews."""

    name: str
    title: str
    judge: str
    judge_counts: str
    scores: list[ReviewerScore]
    differs: bool


@dataclass(frozen=True, slots=True)
class ReviewerSummary:
    """One independent review as a whole."""

    reviewer: str
    verdict: str
    comments: str


@dataclass(frozen=True, slots=True)
class ReviewComparison:
    """All open independent reviews of a record."""

    reviewers: list[ReviewerSummary]
    criteria: list[CriterionComparison]
    #: The judge's verdict; empty without one.
    judged_verdict: str
    #: Whether one of the reviews is the reader's.
    is_own: bool

    @property
    def differing(self) -> int:
        """Number of criteria on which the reviews differ."""
        return sum(criterion.differs for criterion in self.criteria)

    @property
    def verdicts_differ(self) -> bool:
        return len({one.verdict for one in self.reviewers}) > 1

    @property
    def sentence(self) -> str:
        if len(self.reviewers) == 1:
            return f"There is one independent review, by {self.reviewers[0].reviewer}."
        if not self.differing:
            return f"All {len(self.reviewers)} independent reviews agree."
        criteria = "criterion" if len(self.criteria) == 1 else "criteria"
        differ = f"differ on {self.differing} of {len(self.criteria)} {criteria}"
        return f"{len(self.reviewers)} independent reviews {differ}."


def compare_reviews(
    independent_reviews: Sequence[IndependentReview],
    proposals: Sequence[Proposal],
    rubric: Rubric,
    reader: User,
    judged_verdict: str = "",
) -> ReviewComparison:
    """Compare independent reviews with each other and with the judge's proposals."""
    reviews = [one.review for one in independent_reviews]
    proposed = {proposal.criterion: proposal for proposal in proposals}
    return ReviewComparison(
        [ReviewerSummary(one.reviewer.name, one.verdict or "", one.comments or "") for one in reviews],
        [_compare(name, reviews, proposed.get(name), rubric) for name in _criteria(reviews, proposed)],
        judged_verdict,
        any(review.reviewer == reader for review in reviews),
    )


def agreed_scores(
    independent_reviews: Sequence[IndependentReview], proposals: Sequence[Proposal]
) -> dict[str, EarlierScore]:
    """Return the scores to prefill the lead's form with, by criterion.

    A criterion on which all reviews agree has the last review's entry, or is excluded. The others have no
    score and the judge's text. Without independent reviews, the result is empty.
    """
    if not independent_reviews:
        return {}
    proposed = {proposal.criterion: proposal for proposal in proposals}
    reviews = [one.review for one in independent_reviews]
    last, found = reviews[-1], {}
    for name in _criteria(reviews, proposed):
        entry, proposal = (last.corrected_scores or {}).get(name), proposed.get(name)
        if entry is None or differs(name, reviews):
            is_excluded = not differs(name, reviews)
            judged = proposal.justification if proposal else ""
            found[name] = EarlierScore(name, None, judged, "", is_excluded=is_excluded)
        else:
            is_judges = has_judges_text(entry, last.origins.get(name, ""))
            found[name] = EarlierScore(
                name,
                score_of(entry),
                justification_of(entry),
                last.causes.get(name, ""),
                entry,
                has_judges_text=is_judges,
            )
    return found


def agreed_comments(independent_reviews: Sequence[IndependentReview]) -> str:
    """Return the comments that all reviews have in common; empty if they differ."""
    comments = {one.review.comments or "" for one in independent_reviews}
    return comments.pop() if len(comments) == 1 else ""


def reviewers_words(
    independent_reviews: Sequence[IndependentReview], proposals: Sequence[Proposal]
) -> dict[str, dict[str, str]]:
    """Return the justifications that reviewers wrote themselves: criterion -> reviewer -> text."""
    proposed = {proposal.criterion: proposal for proposal in proposals}
    found: dict[str, dict[str, str]] = {}
    for review in (one.review for one in independent_reviews):
        for name in review.corrected_scores or {}:
            if words := _own_words(name, review, proposed.get(name)):
                found.setdefault(name, {})[review.reviewer.name] = words
    return found


def _criteria(reviews: Sequence[Review], proposed: dict[str, Proposal]) -> Iterator[str]:
    """Yield all criteria that the judge or a reviewer scored, in the order of the record."""
    scored = {name: None for review in reviews for name in review.corrected_scores or {}}
    yield from {**proposed, **scored}


def _compare(
    name: str, reviews: Sequence[Review], proposal: Proposal | None, rubric: Rubric
) -> CriterionComparison:
    return CriterionComparison(
        name=name,
        title=rubric.title(name),
        judge=proposal.word if proposal else "",
        judge_counts=(rubric.level(name, proposal.score) if proposal else None) or "",
        scores=[_reviewer_score(name, review, proposal, rubric) for review in reviews],
        differs=differs(name, reviews),
    )


def _reviewer_score(name: str, review: Review, proposal: Proposal | None, rubric: Rubric) -> ReviewerScore:
    entry = (review.corrected_scores or {}).get(name)
    text, cause = justification_of(entry), review.causes.get(name, "")
    known, words = rubric.cause(cause), _own_words(name, review, proposal)
    value = score_input(rubric, name, proposal, None).encode(score_of(entry))
    return ReviewerScore(
        reviewer=review.reviewer.name,
        score=format_score(score_of(entry)),
        counts=rubric.level(name, score_of(entry)) or "",
        cause=known.title if known else cause,
        text=text,
        is_judges_text=bool(text) and not words,
        taken=TakenValues(value, cause, words),
    )


def _own_words(name: str, review: Review, proposal: Proposal | None) -> str:
    """Return the justification in a review; empty if it is the judge's."""
    entry = (review.corrected_scores or {}).get(name)
    text = justification_of(entry)
    is_judges = proposal is not None and (
        same_text(text, proposal.justification) or has_judges_text(entry, review.origins.get(name, ""))
    )
    return "" if is_judges else text


def differs(name: str, reviews: Sequence[Review]) -> bool:
    """Return whether the reviews give a criterion different scores, or only some of them exclude it."""
    entries = [(review.corrected_scores or {}).get(name) for review in reviews]
    if None in entries:
        return any(entry is not None for entry in entries)
    return not all(is_alike(score_of(entries[0]), score_of(entry)) for entry in entries)
