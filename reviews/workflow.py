"""What people decide: the only module that changes the status of an evaluation.

A decision is one transaction: a review version, the five human_* columns and an audit event. A status that
a file brings is taken as it stands, when it is imported and when a lead settles a conflict for the file.
"""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews import audit, drafts, overturning, queue, review_version
from reviews.meanwhile import Conflict, check_in_force, check_open, check_version
from reviews.models import Escalation, Evaluation, FileConflict, Review, Run, User, Withdrawal
from reviews.permissions import check, check_revise
from reviews.record import DONE_WORDS, HUMAN_FIELDS, QUEUE_WORDS
from reviews.review_version import Decision

__all__ = [
    "TRANSITIONS",
    "Conflict",
    "Decision",
    "close",
    "reopen",
    "restore",
    "revise",
    "settle_conflict",
    "submit_review",
    "undo",
]

COMPLETED, NEEDS_REVIEW = "Completed", "Needs Review"
# (what happens, the status it needs) -> the status after it. The README's diagram is made of this.
# A file brings new evidence for a record that was reviewed here: the review is kept, but stale. What nobody
# can judge is closed, without scores. `undo` goes an arrow of submit, close, revise or restore back.
TRANSITIONS = {
    **{("submit", word): COMPLETED for word in QUEUE_WORDS},
    **{("close", word): COMPLETED for word in QUEUE_WORDS},
    **{("revise", word): COMPLETED for word in DONE_WORDS},
    **{("restore", word): COMPLETED for word in DONE_WORDS},
    **{("reopen", word): NEEDS_REVIEW for word in DONE_WORDS},
    **{("new evidence", word): NEEDS_REVIEW for word in DONE_WORDS},
}


@transaction.atomic
def submit_review(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Put a human decision in force.

    `version` is the record's as the reviewer saw it. The same `submission` sent twice gives the same
    review. A lead's settles the record's escalation. Raises `Conflict` when somebody else holds or has
    decided the record, or it has changed since.
    """
    check(reviewer, "review_evaluation")
    evaluation = queue.locked(evaluation_id)
    sent_before = Review.objects.filter(submission=submission).first()
    if sent_before:
        return _same_submission(sent_before, evaluation, reviewer)
    check_open(evaluation, reviewer, decision["scores"])
    check_version(evaluation, version)
    return _decide("submit", evaluation, reviewer, submission, **decision)


@transaction.atomic
def revise(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Put another decision in the place of one in force: the reviewer's own, or as a lead anybody's.

    Arguments as of `submit_review`; no claim is needed. Raises `Conflict` when the record is not decided,
    or has changed since.
    """
    evaluation = queue.locked(evaluation_id)
    same = _sent_before(evaluation, reviewer, version, submission)
    return same or _decide("revise", evaluation, reviewer, submission, **decision)


@transaction.atomic
def restore(
    *, evaluation_id: int, actor: User, version: int, submission: UUID, restored: int, reason: str
) -> Review:
    """Put the version `restored` in force again, as a new one by the actor. The rest is as of `revise`.

    Raises `Conflict` also when it is in force, and `Review.DoesNotExist` when there is none of that number.
    """
    evaluation = queue.locked(evaluation_id)
    sent_before = _sent_before(evaluation, actor, version, submission)
    if sent_before:
        return sent_before
    older, in_force = evaluation.reviews.get(version=restored), evaluation.review
    place = (evaluation.source_import_id, evaluation.source_line)
    if older == in_force:
        raise Conflict("This version is in force already.")
    decision: Decision = {
        "scores": older.corrected_scores or {},
        "comments": older.comments or "",
        "origins": older.origins,
        "causes": older.causes,
        "extractor": older.extractor,
        "judged": older.judged if (older.source_import_id, older.source_line) == place else None,
    }
    told = {"restored": restored, "reason": reason}
    review = _decide("restore", evaluation, actor, submission, told, **decision)
    overturning.note(in_force, overturning.Kind.REVISED, actor=actor, reason=reason, by=review)
    return review


def _sent_before(evaluation: Evaluation, actor: User, version: int, submission: UUID) -> Review | None:
    """The review that this submission made already. Raises unless the decision in force may be replaced."""
    check_revise(actor, evaluation)
    sent_before = Review.objects.filter(submission=submission).first()
    if sent_before:
        return _same_submission(sent_before, evaluation, actor)
    check_version(evaluation, version)
    if not evaluation.is_done:
        raise Conflict("There is no decision to revise: this record is in the queue.")
    return None


@transaction.atomic
def close(*, evaluation_id: int, actor: User, comments: str) -> Review:
    """Complete an escalated record without scores: nobody can judge it, and the comments say why.

    Raises `Conflict` when it has left the queue, or somebody else holds it.
    """
    check(actor, "lead_review")
    evaluation = queue.locked(evaluation_id)
    check_open(evaluation, actor)
    return _decide("close", evaluation, actor, uuid4(), scores={}, comments=comments, origins={})


def _same_submission(review: Review, evaluation: Evaluation, reviewer: User) -> Review:
    if (review.evaluation_id, review.reviewer_id) != (evaluation.pk, reviewer.pk):
        raise Conflict("This form was sent before, for another record. Open the record again.")
    return review


def _decide(
    action: str,
    evaluation: Evaluation,
    reviewer: User,
    submission: UUID,
    also: Mapping[str, Any] | None = None,
    **decision: Unpack[Decision],
) -> Review:
    """Put a decision in force; `also` is what else the audit event tells."""
    before = evaluation.human
    escalation = _settle_escalation(evaluation, reviewer)
    review = review_version.add(evaluation, reviewer, submission, decision, escalation=escalation)
    if action == "revise":
        overturning.note_revision(evaluation.review, by=review)
    evaluation.human_review_status = TRANSITIONS[action, evaluation.human_review_status]
    evaluation.human_reviewer_id = reviewer.username
    evaluation.human_review_timestamp = review.submitted_at
    evaluation.human_corrected_scores = review.corrected_scores
    evaluation.human_review_comments = review.comments
    evaluation.review, evaluation.is_stale = review, False
    _save_decided(evaluation)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    audit.record(
        action,
        actor=reviewer,
        run=evaluation.run,
        evaluation=evaluation,
        version=review.version,
        human=_told(before, evaluation),
        causes=review.causes,
        **also or {},
    )
    return review


@transaction.atomic
def undo(*, run: Run, reviewer: User) -> Evaluation:
    """Take back the reviewer's last decision in a run: the record is as it was before, and theirs again.

    What they had entered is their draft. Raises `Conflict` when that decision is not in force any more.
    """
    check(reviewer, "review_evaluation")
    mine = Review.objects.filter(reviewer=reviewer, evaluation__run=run)
    last = mine.filter(withdrawal=None, before__isnull=False).order_by("-pk").first()
    if last is None:
        raise Conflict("There is no decision of yours in this run to take back.")
    evaluation = queue.locked(last.evaluation_id)
    check_in_force(evaluation, last)
    Withdrawal.objects.create(review=last, actor=reviewer)
    before = evaluation.human
    _restore(evaluation, last)
    _save_decided(evaluation, holder=reviewer if evaluation.in_queue else None)
    drafts.refill(last)
    audit.record(
        "undo",
        actor=reviewer,
        run=run,
        evaluation=evaluation,
        version=last.version,
        human=_told(before, evaluation),
    )
    return evaluation


def _restore(evaluation: Evaluation, review: Review) -> None:
    """Give the record the values that stood before a review of it."""
    before = review.before or {}
    evaluation.human = before
    evaluation.review_id = before["review"]
    evaluation.is_stale = before["is_stale"]
    if before["escalation"]:
        evaluation.is_escalated = True
        open_again = {"outcome": Escalation.Outcome.OPEN, "settled_by": None, "settled_at": None}
        Escalation.objects.filter(pk=before["escalation"]).update(**open_again)


@transaction.atomic
def reopen(*, evaluation_id: int, actor: User, reason: str) -> None:
    """Put a decided record back into the queue; the decision stays in force until there is a newer one.

    It is for whoever decided, or a lead. Raises `Conflict` when the record is not decided.
    """
    evaluation = queue.locked(evaluation_id)
    check_revise(actor, evaluation)
    if not evaluation.is_done:
        raise Conflict("This record is not decided: there is nothing to reopen.")
    if evaluation.review is None:
        # So that an export says that it is open again, which the line of the file does not.
        evaluation.review = review_version.from_file(evaluation, evaluation.human, actor, conflict=None)
    overturning.note(evaluation.review, overturning.Kind.REOPENED, actor=actor, reason=reason)
    before = evaluation.human
    evaluation.human_review_status = TRANSITIONS["reopen", evaluation.human_review_status]
    _save_decided(evaluation)
    audit.record(
        "reopen",
        actor=actor,
        run=evaluation.run,
        evaluation=evaluation,
        human=_told(before, evaluation),
        version=evaluation.review.version,
        reason=reason,
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
    before = evaluation.human
    if theirs:
        _take_from_file(evaluation, conflict, actor)
    conflict.outcome = FileConflict.Outcome.THEIRS if theirs else FileConflict.Outcome.OURS
    conflict.settled_by, conflict.settled_at = actor, timezone.now()
    conflict.save(update_fields=["outcome", "settled_by", "settled_at"])
    audit.record(
        "settle conflict",
        actor=actor,
        run=evaluation.run,
        source=conflict.source,
        evaluation=evaluation,
        holds=conflict.outcome,
        version=evaluation.review.version if theirs and evaluation.review else None,
        line=conflict.line,
        theirs=conflict.human,
        human=_told(before, evaluation),
    )


def _take_from_file(evaluation: Evaluation, conflict: FileConflict, actor: User) -> None:
    human, ours = conflict.human, evaluation.review
    evaluation.review = review_version.from_file(evaluation, human, actor, conflict)
    overturning.note(ours, overturning.Kind.FILE, actor=actor, by=evaluation.review)
    evaluation.human = human
    evaluation.is_stale = False
    if evaluation.is_done:
        _settle_escalation(evaluation, actor)
    _save_decided(evaluation)


def _told(before: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """What the ledger holds of a decision."""
    return {"before": before, "after": evaluation.human}


def _settle_escalation(evaluation: Evaluation, reviewer: User) -> int | None:
    """A decision settles an open escalation; the key of that one, for undo."""
    if not evaluation.is_escalated:
        return None
    escalation = Escalation.objects.get(evaluation=evaluation, outcome=Escalation.Outcome.OPEN)
    escalation.outcome = Escalation.Outcome.DECIDED
    escalation.settled_by, escalation.settled_at = reviewer, timezone.now()
    escalation.save(update_fields=["outcome", "settled_by", "settled_at"])
    evaluation.is_escalated = False
    return escalation.pk


def _save_decided(evaluation: Evaluation, holder: User | None = None) -> None:
    """Save what a decision changes in a locked record, and who holds it from then on."""
    evaluation.version += 1
    evaluation.claimed_by = holder
    evaluation.claimed_until = timezone.now() + settings.CLAIM_LENGTH if holder else None
    ours = ("review", "is_stale", "is_escalated", "version", "claimed_by", "claimed_until")
    evaluation.save(update_fields=[*HUMAN_FIELDS, *ours])
