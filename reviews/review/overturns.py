"""Record overturns: decisions that another person revised, reopened or replaced."""

from collections.abc import Mapping
from typing import Any

from reviews.models import Overturn, Review, User
from reviews.records.scores import score_of
from reviews.rubric.overrides import is_same_score

Kind = Overturn.Kind


def record_overturn(
    review: Review | None, kind: Kind, *, actor: User, reason: str = "", by: Review | None = None
) -> None:
    """Note that `actor` overturned the review in force, if it is somebody else's and was made here.

    `by` is the review that takes its place.
    """
    if review and not review.is_from_file and review.reviewer_id != actor.pk:
        Overturn.objects.create(review=review, kind=kind, reason=reason, actor=actor, by=by)


def record_revision(review: Review | None, *, by: Review) -> None:
    """Note a newer version of a review if its scores are others; its comments are the reason."""
    if review and not _agree(review.corrected_scores or {}, by.corrected_scores or {}):
        record_overturn(review, Kind.REVISED, actor=by.reviewer, reason=by.comments or "", by=by)


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        is_same_score(score_of(one[name]), score_of(other[name])) for name in one
    )
