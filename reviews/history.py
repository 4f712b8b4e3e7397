"""The versions of a record's human decision: who, when, and what it changed of what the judge said."""

from typing import Any, NamedTuple

from reviews.criteria import Offer
from reviews.models import Evaluation, Review
from reviews.rubric import Rubric
from reviews.scores import criterion_title, identity, is_score, score_of, score_word


class Change(NamedTuple):
    """What a person made of a criterion. `before` is the judge's score, empty where it gave none."""

    title: str
    before: str
    after: str
    cause: str


class Version(NamedTuple):
    """One review. `state` is "in force", "superseded" or "taken back"."""

    review: Review
    state: str
    verdict: str
    changes: list[Change]


def versions(evaluation: Evaluation, offers: list[Offer], rubric: Rubric) -> list[Version]:
    """Every review of a record, the latest first (one query)."""
    judged = {offer.criterion: offer.score for offer in offers}
    reviews = evaluation.reviews.select_related("reviewer", "withdrawal").order_by("-version")
    return [
        Version(
            review=review,
            state=_state(evaluation, review),
            verdict=rubric.rule.verdict(review.corrected_scores) or "",
            changes=_changes(review, judged, rubric),
        )
        for review in reviews
    ]


def _state(evaluation: Evaluation, review: Review) -> str:
    if review.pk == evaluation.review_id:
        return "in force"
    return "taken back" if hasattr(review, "withdrawal") else "superseded"


def _changes(review: Review, judged: dict[str, Any], rubric: Rubric) -> list[Change]:
    found = []
    for name, entry in (review.corrected_scores or {}).items():
        before, after = judged.get(name), score_of(entry)
        cause = review.causes.get(name, "")
        if cause or not _is_same(before, after):
            known = rubric.cause(cause)
            title = known.title if known else cause
            found.append(Change(criterion_title(name), score_word(before), score_word(after), title))
    return found


def _is_same(before: Any, after: Any) -> bool:
    if not is_score(before) or not is_score(after):
        return bool(before == after)
    return bool(identity(before) == identity(after))
