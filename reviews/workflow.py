"""What people decide: the only module that changes the status of an evaluation.

A decision is one transaction: a review version, the five human_* columns and an audit event.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from reviews import audit, queue
from reviews.models import Evaluation, Review, User
from reviews.permissions import check
from reviews.record import QUEUE_WORDS

COMPLETED = "Completed"
# (what happens, the status it needs) -> the status after it. The README's diagram is made of this.
TRANSITIONS = {("submit", word): COMPLETED for word in QUEUE_WORDS}

Scores = Mapping[str, Mapping[str, Any]]


class Conflict(Exception):
    """The decision does not fit what the record is now; nothing was changed. The reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@transaction.atomic
def submit_review(
    *,
    evaluation_id: int,
    reviewer: User,
    version: int,
    scores: Scores,
    comments: str,
    origins: Mapping[str, str],
    submission: UUID,
) -> Review:
    """Put a human decision in force.

    `scores` holds every criterion the reviewer stands by, criterion -> {score, justification};
    `origins` says for each where its score came from (judge, extracted or human). `version` is the
    record's as the reviewer saw it. The same `submission` sent twice gives the same review.
    Raises `Conflict` when somebody else holds or has decided the record, or a file changed it.
    """
    check(reviewer, "review_evaluation")
    evaluation = queue.locked(evaluation_id)
    sent_before = Review.objects.filter(submission=submission).first()
    if sent_before:
        return _same_submission(sent_before, evaluation, reviewer)
    _check_open(evaluation, reviewer, version)
    review = Review.objects.create(
        evaluation=evaluation,
        version=evaluation.reviews.count() + 1,
        reviewer=reviewer,
        submitted_at=timezone.now(),
        corrected_scores={criterion: dict(judged) for criterion, judged in scores.items()},
        comments=comments or None,
        origins=dict(origins),
        submission=submission,
    )
    before = evaluation.human_review_status
    _put_in_force(evaluation, review)
    audit.record(
        "submit",
        actor=reviewer,
        run=evaluation.run,
        evaluation=evaluation,
        version=review.version,
        status=[before, evaluation.human_review_status],
        scores=review.corrected_scores,
        comments=review.comments,
    )
    return review


def _same_submission(review: Review, evaluation: Evaluation, reviewer: User) -> Review:
    if (review.evaluation_id, review.reviewer_id) != (evaluation.pk, reviewer.pk):
        raise Conflict("This form was sent before, for another record. Open the record again.")
    return review


def _check_open(evaluation: Evaluation, reviewer: User, version: int) -> None:
    try:
        queue.check_free(evaluation, reviewer)
    except queue.Taken as taken:
        raise Conflict(taken.reason) from taken
    if evaluation.version != version:
        raise Conflict("This record was imported again and has changed since you opened it.")


def _put_in_force(evaluation: Evaluation, review: Review) -> None:
    evaluation.human_review_status = TRANSITIONS["submit", evaluation.human_review_status]
    evaluation.human_reviewer_id = review.reviewer.username
    evaluation.human_review_timestamp = review.submitted_at
    evaluation.human_corrected_scores = review.corrected_scores
    evaluation.human_review_comments = review.comments
    evaluation.review = review
    evaluation.version += 1
    evaluation.claimed_by = evaluation.claimed_until = None
    evaluation.save(
        update_fields=[
            "human_review_status",
            "human_reviewer_id",
            "human_review_timestamp",
            "human_corrected_scores",
            "human_review_comments",
            "review",
            "version",
            "claimed_by",
            "claimed_until",
        ]
    )
