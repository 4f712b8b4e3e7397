"""The versions of a record's human decision: who, when, what it changed of what the judge said, and since."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reviews.history.changes import FieldChange, compare_texts
from reviews.models import Evaluation, Review, User
from reviews.records.scores import criterion_title, format_score, score_of
from reviews.rubric.definition import Rubric
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal


class ScoreChange(NamedTuple):
    """What a person made of a criterion. `before` is the judge's score, empty where it gave none."""

    title: str
    before: str
    after: str
    cause: str


class Version(NamedTuple):
    """One review. `state` is "current", "superseded", "undone" or "independent review".

    `before` is the decision that was in force until then, if any.
    """

    review: Review
    state: str
    verdict: str
    changes: list[ScoreChange]
    before: Review | None


def list_versions(
    evaluation: Evaluation, proposals: list[Proposal], rubric: Rubric, *, reader: User | None = None
) -> list[Version]:
    """Every review of a record, the latest first (one query).

    Independent reviews that wait for a decision are left out unless they are the reader's own.
    """
    judged = {proposal.criterion: proposal.score for proposal in proposals}
    made = evaluation.reviews.select_related("reviewer", "withdrawal", "independent_review").order_by(
        "-version"
    )
    reviews = [review for review in made if not _is_sealed(evaluation, review, reader)]
    return [
        Version(
            review=review,
            state=_state(evaluation, review),
            verdict=rubric.rule.verdict(review.corrected_scores) or "",
            changes=_changes(review, judged if review.judged is None else review.judged, rubric),
            before=_before(review, reviews),
        )
        for review in reviews
    ]


def _is_sealed(evaluation: Evaluation, review: Review, reader: User | None) -> bool:
    """Return whether a review must stay hidden until the other independent reviews are submitted."""
    independent_review = getattr(review, "independent_review", None)
    is_open = (
        independent_review is not None and independent_review.is_open and review.pk != evaluation.review_id
    )
    return is_open and review.reviewer != reader


def version_changes(version: Version) -> list[FieldChange]:
    """What a version says otherwise than the decision before it: scores, justifications and the comments."""
    if version.before is None:
        return []
    return compare_texts(_texts(version.before, version.review))


def _texts(before: Review, after: Review) -> Iterator[tuple[str, str, str]]:
    old, new = before.corrected_scores or {}, after.corrected_scores or {}
    for name in {**new, **old}:
        title = criterion_title(name)
        was, is_now = old.get(name), new.get(name)
        yield f"{title}: score", format_score(score_of(was)), format_score(score_of(is_now))
        yield title, _justification(was), _justification(is_now)
    yield "Comments", before.comments or "", after.comments or ""


def _justification(entry: Any) -> str:
    text = entry.get("justification") if isinstance(entry, dict) else None
    return text if isinstance(text, str) else ""


def _before(review: Review, reviews: list[Review]) -> Review | None:
    """The review that stood before another. Of one taken from a file only its place tells."""
    if review.before is None:  # taken from a file
        return next((other for other in reviews if other.version == review.version - 1), None)
    replaced = (review.before or {})["review"]
    return next((other for other in reviews if other.pk == replaced), None)


def _state(evaluation: Evaluation, review: Review) -> str:
    if review.pk == evaluation.review_id:
        return "current"
    if hasattr(review, "withdrawal"):
        return "undone"
    return "independent review" if hasattr(review, "independent_review") else "superseded"


def _changes(review: Review, judged: dict[str, Any], rubric: Rubric) -> list[ScoreChange]:
    found = []
    for name, entry in (review.corrected_scores or {}).items():
        before, after = judged.get(name), score_of(entry)
        cause = review.causes.get(name, "")
        if cause or not is_same_score(before, after):
            known = rubric.cause(cause)
            title = known.title if known else cause
            found.append(ScoreChange(criterion_title(name), format_score(before), format_score(after), title))
    return found
