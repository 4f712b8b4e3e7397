"""The versions of a record's decision, and how each differs from the judge and from the version before."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from reviews.history.changes import ComparedText, FieldChange, compare_texts
from reviews.models import Evaluation, Review, User
from reviews.records.rubric import Rubric
from reviews.records.scores import criterion_title, format_score, is_alike, justification_of, score_of
from reviews.rubric.proposals import Proposal

ReviewState = Literal["current", "outdated", "superseded", "undone", "independent review"]


class ScoreChange(NamedTuple):
    """A criterion whose score differs from the judge's, or that has a cause."""

    title: str
    #: The judge's score; empty if there was none.
    before: str
    #: The reviewer's score.
    after: str
    cause: str


class Version(NamedTuple):
    review: Review
    state: ReviewState
    #: The verdict of its scores; empty if they have none.
    verdict: str
    changes: list[ScoreChange]
    #: The decision that it replaced.
    before: Review | None


def list_versions(
    evaluation: Evaluation, proposals: list[Proposal], rubric: Rubric, *, reader: User | None = None
) -> list[Version]:
    """Return all versions of a record's decision, the latest first, with one query.

    Open independent reviews are left out unless they are the reader's own.
    """
    judged = {proposal.criterion: proposal.score for proposal in proposals}
    made = evaluation.reviews.select_related("reviewer", "withdrawal", "independent_review").order_by(
        "-version"
    )
    reviews = [review for review in made if not _is_sealed(evaluation, review, reader)]
    return [
        Version(
            review=review,
            state=review_state(evaluation, review),
            verdict=rubric.verdict(review.corrected_scores) or "",
            changes=_changes(review, judged if review.judged is None else review.judged, rubric),
            before=_before(review, reviews),
        )
        for review in reviews
    ]


def _is_sealed(evaluation: Evaluation, review: Review, reader: User | None) -> bool:
    """Return whether a review must stay hidden until the other independent reviews are submitted."""
    row = getattr(review, "independent_review", None)
    is_open = row is not None and row.is_open and review.pk != evaluation.review_id
    return is_open and review.reviewer != reader


def version_changes(version: Version) -> list[FieldChange]:
    """Compare a version with the decision that it replaced: scores, justifications and comments."""
    if version.before is None:
        return []
    return compare_texts(_texts(version.before, version.review))


def _texts(before: Review, after: Review) -> Iterator[ComparedText]:
    old, new = before.corrected_scores or {}, after.corrected_scores or {}
    for name in {**new, **old}:
        title = criterion_title(name)
        was, is_now = old.get(name), new.get(name)
        scores = (format_score(score_of(entry)) for entry in (was, is_now))
        yield ComparedText(f"{title}: score", *scores)
        yield ComparedText(title, justification_of(was), justification_of(is_now))
    yield ComparedText("Comments", before.comments or "", after.comments or "")


def _before(review: Review, reviews: list[Review]) -> Review | None:
    """Return the decision that a version replaced. A version from a file does not store it."""
    if review.before is None:
        return next((other for other in reviews if other.version == review.version - 1), None)
    return next((other for other in reviews if other.pk == review.before["review"]), None)


def review_state(evaluation: Evaluation, review: Review) -> ReviewState:
    if review.pk == evaluation.review_id:
        return "outdated" if evaluation.is_outdated else "current"
    if hasattr(review, "withdrawal"):
        return "undone"
    return "independent review" if hasattr(review, "independent_review") else "superseded"


def _changes(review: Review, judged: dict[str, Any], rubric: Rubric) -> list[ScoreChange]:
    found = []
    for name, entry in (review.corrected_scores or {}).items():
        before, after = judged.get(name), score_of(entry)
        cause = review.causes.get(name, "")
        if cause or not is_alike(before, after):
            known = rubric.cause(cause)
            title = known.title if known else cause
            found.append(ScoreChange(criterion_title(name), format_score(before), format_score(after), title))
    return found
