"""What people decide: the only module that changes the status of an evaluation.

A decision is one transaction: a review version, the five human_* columns and an audit event. A status that
a file brings is taken as it stands, when it is imported and when a lead settles a conflict for the file.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from reviews import audit, queue
from reviews.models import Evaluation, FileConflict, Review, User
from reviews.permissions import check
from reviews.record import DONE_WORDS, HUMAN_FIELDS, QUEUE_WORDS

COMPLETED, NEEDS_REVIEW = "Completed", "Needs Review"
# (what happens, the status it needs) -> the status after it. The README's diagram is made of this.
# A file brings new evidence for a record that was reviewed here: the review is kept, but stale.
TRANSITIONS = {
    **{("submit", word): COMPLETED for word in QUEUE_WORDS},
    **{("new evidence", word): NEEDS_REVIEW for word in DONE_WORDS},
}

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
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
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
    _save_decided(evaluation, review)


def _save_decided(evaluation: Evaluation, review: Review) -> None:
    evaluation.review = review
    evaluation.is_stale = False
    evaluation.version += 1
    evaluation.claimed_by = evaluation.claimed_until = None
    evaluation.save(
        update_fields=[*HUMAN_FIELDS, "review", "is_stale", "version", "claimed_by", "claimed_until"]
    )


@transaction.atomic
def settle_conflict(*, conflict_id: int, version: int, theirs: bool, actor: User) -> None:
    """Let the decision of a file hold (`theirs`), or the one made here.

    Theirs puts the file's five human_* values in force as a review version by the actor. `version` is
    the record's as the actor saw it. Raises `Conflict` when the record has changed since, or the
    conflict is settled or replaced by a newer file.
    """
    check(actor, "settle_conflict")
    conflict = FileConflict.objects.get(pk=conflict_id)
    # Imports, submits and other leads take turns at the record; only behind the lock is known what holds.
    evaluation = queue.locked(conflict.evaluation_id)
    conflict.refresh_from_db()
    if conflict.outcome != FileConflict.Outcome.OPEN:
        raise Conflict("This conflict is not open any more.")
    if evaluation.version != version:
        raise Conflict("This record has changed since you opened the page.")
    ours = {name: getattr(evaluation, name) for name in HUMAN_FIELDS}
    if theirs:
        _take_from_file(evaluation, conflict, actor)
    conflict.outcome = FileConflict.Outcome.THEIRS if theirs else FileConflict.Outcome.OURS
    conflict.settled_by, conflict.settled_at = actor, timezone.now()
    conflict.save(update_fields=["outcome", "settled_by", "settled_at"])
    moment = ours["human_review_timestamp"]
    audit.record(
        "settle conflict",
        actor=actor,
        run=evaluation.run,
        source=conflict.source,
        evaluation=evaluation,
        holds=conflict.outcome,
        line=conflict.line,
        theirs=conflict.human,
        ours=ours | {"human_review_timestamp": moment.isoformat() if moment else None},
    )


def _take_from_file(evaluation: Evaluation, conflict: FileConflict, actor: User) -> None:
    human = conflict.human
    scores, moment = human["human_corrected_scores"], human["human_review_timestamp"]
    review = Review.objects.create(
        evaluation=evaluation,
        version=evaluation.reviews.count() + 1,
        reviewer=actor,
        submitted_at=timezone.now(),
        corrected_scores=scores,
        comments=human["human_review_comments"],
        origins=dict.fromkeys(scores or (), "file"),
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        conflict=conflict,
    )
    evaluation.human_review_status = human["human_review_status"]
    evaluation.human_reviewer_id = human["human_reviewer_id"]
    evaluation.human_review_timestamp = dt.datetime.fromisoformat(moment) if moment else None
    evaluation.human_corrected_scores = scores
    evaluation.human_review_comments = human["human_review_comments"]
    _save_decided(evaluation, review)
