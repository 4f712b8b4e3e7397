"""Record overturns: decisions that another person revised, reopened or replaced."""

from reviews.models import Overturn, Review, User
from reviews.review.versions import have_same_scores

Kind = Overturn.Kind


def record_overturn(
    *, review: Review | None, kind: Kind, actor: User, reason: str = "", by: Review | None = None
) -> None:
    """Record that `actor` overturned a decision, unless it is their own or came with a file.

    `by` is the decision that replaces it.
    """
    if review and not review.is_from_file and review.reviewer_id != actor.pk:
        Overturn.objects.create(review=review, kind=kind, reason=reason, actor=actor, by=by)


def record_revision(review: Review | None, *, by: Review, reason: str = "") -> None:
    """Record an overturn if the scores of the newer version differ. Without a reason, its comments are it."""
    if review and not have_same_scores([review, by]):
        record_overturn(
            review=review, kind=Kind.REVISED, actor=by.reviewer, reason=reason or by.comments or "", by=by
        )
