"""What people decide: the only module that changes the status of an evaluation.

A decision is one transaction: a review version, the five human_* columns and an audit event. A status that
a file brings is taken as it stands, when it is imported and when a lead settles a conflict for the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import can, check, check_revise
from reviews.audit import events
from reviews.models import Escalation, Evaluation, FileConflict, Review, Run, User, Withdrawal
from reviews.queue import claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, start_claim
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import TRANSITIONS
from reviews.review import agreement_counts, blind_scoring, drafts, independent_reviews, overturns
from reviews.review import versions as review_versions
from reviews.review.decision import Decision
from reviews.review.preconditions import check_current, check_decidable, check_undisputed, check_version
from reviews.storage.line_reader import stored_record

__all__ = [
    "Decision",
    "close",
    "reopen",
    "restore",
    "revise",
    "settle_conflict",
    "submit",
    "undo",
]


@transaction.atomic
def submit(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Save a decision; where the run wants several reviews of the record, it is one of them.

    `version` is the record's as the reviewer saw it. The same `submission` sent twice gives the same
    review. A lead's settles the record's escalation. Raises `Conflict` when somebody else holds or has
    decided the record, it has changed since, or it is to be scored blind first.
    """
    check(reviewer, "review_evaluation")
    evaluation = claims.lock_evaluation(evaluation_id)
    sent_before = review_versions.sent_before(submission, evaluation, reviewer)
    if sent_before:
        return sent_before
    check_decidable(evaluation, reviewer, decision["scores"])
    check_version(evaluation, version)
    blind_scoring.check_locked_in(evaluation, reviewer)
    waiting = independent_reviews.waiting_on(evaluation)
    if independent_reviews.are_wanted(evaluation, waiting):
        return _add_independent_review(evaluation, reviewer, submission, decision)
    return _decide("submit", evaluation, reviewer, submission, waiting=waiting, **decision)


def _add_independent_review(
    evaluation: Evaluation, reviewer: User, submission: UUID, decision: Decision
) -> Review:
    given = independent_reviews.give(evaluation, reviewer, submission, decision)
    if given.outcome == independent_reviews.Outcome.AGREE:
        versions = [independent_review.review.version for independent_review in given.independent_reviews]
        _put_in_force("resolve", evaluation, given.review, {"independent_reviews": versions})
    if given.outcome != independent_reviews.Outcome.WAITS:
        agreement_counts.count(evaluation, given.independent_reviews)
    return given.review


@transaction.atomic
def revise(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Put another decision in the place of one in force: the reviewer's own, or as a lead anybody's.

    Arguments as of `submit_review`; no claim is needed. Raises `Conflict` when the record is not decided,
    or has changed since.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
    sent_before = _sent_before(evaluation, reviewer, version, submission)
    return sent_before or _decide("revise", evaluation, reviewer, submission, **decision)


@transaction.atomic
def restore(
    *, evaluation_id: int, actor: User, version: int, submission: UUID, restored: int, reason: str
) -> Review:
    """Put the version `restored` in force again, as a new one by the actor. The rest is as of `revise`.

    Raises `Conflict` also when it is in force, and `Review.DoesNotExist` when there is none of that number.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
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
    overturns.note(in_force, overturns.Kind.REVISED, actor=actor, reason=reason, by=review)
    return review


def _sent_before(evaluation: Evaluation, actor: User, version: int, submission: UUID) -> Review | None:
    """The review that this submission made already. Raises unless the decision in force may be replaced."""
    check_revise(actor, evaluation)
    sent_before = review_versions.sent_before(submission, evaluation, actor)
    if sent_before:
        return sent_before
    check_version(evaluation, version)
    if not can(actor, "lead_review"):
        check_undisputed(evaluation)
    if not evaluation.is_decided:
        raise Conflict("There is no decision to revise: this record is in the queue.")
    return None


@transaction.atomic
def close(*, evaluation_id: int, actor: User, comments: str) -> Review:
    """Complete an escalated record without scores: nobody can judge it, and the comments say why.

    Raises `Conflict` when it has left the queue, or somebody else holds it.
    """
    check(actor, "lead_review")
    evaluation = claims.lock_evaluation(evaluation_id)
    check_decidable(evaluation, actor)
    return _decide("close", evaluation, actor, uuid4(), scores={}, comments=comments, origins={})


def _decide(
    action: str,
    evaluation: Evaluation,
    reviewer: User,
    submission: UUID,
    also: Mapping[str, Any] | None = None,
    *,
    waiting: Sequence[int] | None = None,
    **decision: Unpack[Decision],
) -> Review:
    """Make a decision and put it in force; `also` is what else the audit event tells.

    `waiting` are the keys of the open independent reviews that it settles, where the caller has them.
    """
    escalation, settled = (
        _settle_escalation(evaluation, reviewer),
        independent_reviews.close(evaluation, waiting),
    )
    review = review_versions.add(
        evaluation, reviewer, submission, decision, escalation=escalation, independent_reviews=settled
    )
    if action == "revise":
        overturns.note_revision(evaluation.review, by=review)
    _put_in_force(action, evaluation, review, also)
    return review


def _put_in_force(
    action: str, evaluation: Evaluation, review: Review, also: Mapping[str, Any] | None = None
) -> None:
    before, reviewer = evaluation.human, review.reviewer
    entered: dict[str, Any] = {}
    if review_versions.corrects_nothing(evaluation, review):
        _leave_line(evaluation)
        # The record's own values do not show these.
        entered = {"scores": review.corrected_scores, "comments": review.comments}
    else:
        evaluation.human_review_status = TRANSITIONS[action, evaluation.human_review_status]
        evaluation.human_reviewer_id = reviewer.username
        evaluation.human_review_timestamp = review.submitted_at
        evaluation.human_corrected_scores = review.corrected_scores
        evaluation.human_review_comments = review.comments
    evaluation.review, evaluation.is_stale = review, False
    _save_decided(evaluation)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    events.record(
        action,
        actor=reviewer,
        run=evaluation.run,
        evaluation=evaluation,
        version=review.version,
        human=_told(before, evaluation),
        causes=review.causes,
        **entered,
        **also or {},
    )


def _leave_line(evaluation: Evaluation) -> None:
    """Give a record that was drawn to be reviewed the human values of its line: nothing is corrected."""
    status = TRANSITIONS["confirm", evaluation.human_review_status]
    if not evaluation.keeps_line:
        line = stored_record(evaluation)
        for name in HUMAN_FIELDS:
            setattr(evaluation, name, getattr(line, name))
    evaluation.human_review_status = status


@transaction.atomic
def undo(*, run: Run, reviewer: User) -> Evaluation:
    """Take back the reviewer's last decision in a run: the record is as it was before, and theirs again.

    What they had entered is their draft. Raises `Conflict` when that decision is not in force any more, or,
    of an independent review, when the record was decided since.
    """
    check(reviewer, "review_evaluation")
    mine = Review.objects.by_reviewers().filter(reviewer=reviewer, evaluation__run=run)
    last = mine.filter(withdrawal=None).order_by("-pk").first()
    if last is None:
        raise Conflict("There is no decision of yours in this run to take back.")
    evaluation = claims.lock_evaluation(last.evaluation_id)
    if independent_reviews.is_aside(evaluation, last):
        independent_reviews.take_back(evaluation, last)
        return evaluation
    check_current(evaluation, last)
    check_undisputed(evaluation)
    Withdrawal.objects.create(review=last, actor=reviewer)
    before = evaluation.human
    _restore(evaluation, last)
    _save_decided(evaluation, holder=reviewer if evaluation.in_queue else None)
    drafts.restore(last)
    events.record(
        "undo",
        actor=reviewer,
        run=run,
        evaluation=evaluation,
        version=last.version,
        human=_told(before, evaluation),
    )
    independent_reviews.recount(evaluation, last)
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
    independent_reviews.reopen(review)


@transaction.atomic
def reopen(*, evaluation_id: int, actor: User, reason: str) -> None:
    """Put a decided record back into the queue; the decision stays in force until there is a newer one.

    One that confirmed a record drawn to be reviewed does not. It is for whoever decided, or a lead. Raises
    `Conflict` when the record is not decided.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
    check_revise(actor, evaluation)
    if not evaluation.is_decided:
        raise Conflict("This record is not decided: there is nothing to reopen.")
    if evaluation.review is None:
        # So that an export says that it is open again, which the line of the file does not.
        evaluation.review = review_versions.from_file(evaluation, evaluation.human, actor, conflict=None)
    decided, before = evaluation.review, evaluation.human
    overturns.note(decided, overturns.Kind.REOPENED, actor=actor, reason=reason)
    if evaluation.is_confirmed:
        evaluation.review = None  # that stands for an open record whose line stays as it came
    evaluation.human_review_status = TRANSITIONS["reopen", evaluation.human_review_status]
    _save_decided(evaluation)
    events.record(
        "reopen",
        actor=actor,
        run=evaluation.run,
        evaluation=evaluation,
        human=_told(before, evaluation),
        version=decided.version,
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
    evaluation = claims.lock_evaluation(conflict.evaluation_id)
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
    events.record(
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
    evaluation.review = review_versions.from_file(evaluation, human, actor, conflict)
    overturns.note(ours, overturns.Kind.FILE, actor=actor, by=evaluation.review)
    evaluation.human = human
    evaluation.is_stale = evaluation.is_sampled = False
    if evaluation.is_done:
        _settle_escalation(evaluation, actor)
        independent_reviews.close(evaluation)
    _save_decided(evaluation)


def _told(before: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """What the audit log holds of a decision."""
    told = {"before": before, "after": evaluation.human}
    return told | events.KEEPS_LINE if evaluation.is_sampled and evaluation.keeps_line else told


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
    claim = assign_claim(evaluation, start_claim(evaluation.run, holder) if holder else NO_CLAIM)
    ours = ("review", "is_sampled", "is_stale", "is_escalated", "version")
    evaluation.save(update_fields=[*HUMAN_FIELDS, *ours, *claim])
