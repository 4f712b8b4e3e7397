"""Submit, revise, restore, close, undo and reopen decisions, and resolve conflicts with imported files.

Each write is one transaction: a review version, the human_* columns and an audit event. A status in a file is
used unchanged, both when the file is imported and when a lead resolves a conflict in its favour.
"""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import can, check, check_revise
from reviews.audit import events
from reviews.models import Evaluation, FileConflict, Overturn, Review, Run, SpotCheck, User, Withdrawal
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.records.status import TRANSITIONS
from reviews.review import blind_scoring, drafts, independent_reviews
from reviews.review import versions as review_versions
from reviews.review.current_decision import draw_for_spot_check, human_changes, make_current, save_decision
from reviews.review.entries import Decision
from reviews.review.escalation_rows import decide_escalation, reopen_escalation
from reviews.review.preconditions import check_current, check_decidable, check_undisputed, check_version
from reviews.review.rated_verdicts import rate_earlier_decision
from reviews.review.versions import Basis, have_same_scores

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


@transaction.atomic
def submit(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Save a decision; where the run wants several reviews of the record, it is one of them.

    `version` is the record's version that the reviewer saw. The same `submission` sent twice returns the same
    review. A lead's decision resolves the record's escalation. Raises `Conflict` if somebody else has claimed
    or decided the record, if the record has changed, or if blind scores must be locked in first.
    """
    check(reviewer, "review_evaluation")
    evaluation = claims.lock_evaluation(evaluation_id)
    basis = review_versions.load_basis(evaluation, reviewer, submission)
    if basis.is_repeated:
        sent_before = review_versions.sent_before(submission, evaluation, reviewer)
        assert sent_before
        return sent_before
    check_decidable(evaluation, reviewer, decision["scores"], waiting=basis.open_reviews)
    check_version(evaluation, version)
    blind_scoring.check_locked_in(evaluation, reviewer)
    if independent_reviews.are_wanted(evaluation, basis.open_reviews):
        return independent_reviews.submit(
            evaluation=evaluation, reviewer=reviewer, submission=submission, decision=decision
        )
    action = "adjudicate" if basis.open_reviews else "submit"
    review = _decide(action, evaluation, reviewer, submission, basis=basis, **decision)
    draw_for_spot_check(evaluation, review)
    return review


@transaction.atomic
def revise(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Replace the current decision: one's own, or as a lead anybody's.

    The arguments are those of `submit`. No claim is needed. Raises `Conflict` if the record is not decided or
    has changed.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
    if sent_before := _sent_before(evaluation, reviewer, version, submission):
        return sent_before
    overturned = evaluation.review
    review = _decide("revise", evaluation, reviewer, submission, **decision)
    record_revision(overturned, by=review)
    draw_for_spot_check(evaluation, review)
    return review


@transaction.atomic
def correct(
    *,
    evaluation_id: int,
    reviewer: User,
    version: int,
    submission: UUID,
    reason: str,
    **decision: Unpack[Decision],
) -> Review:
    """Replace a decision in a spot check, as a lead. The reason goes to its reviewer.

    The other arguments are those of `revise`. The correction is not drawn for a spot check itself.
    """
    check(reviewer, "lead_review")
    evaluation = claims.lock_evaluation(evaluation_id)
    if sent_before := _sent_before(evaluation, reviewer, version, submission):
        return sent_before
    corrected = evaluation.review
    detail = {"reason": reason, "spot_check": True}
    review = _decide("revise", evaluation, reviewer, submission, detail, **decision)
    record_revision(corrected, by=review, reason=reason)
    return review


@transaction.atomic
def restore(
    *, evaluation_id: int, actor: User, version: int, submission: UUID, restored: int, reason: str
) -> Review:
    """Make the version `restored` the current decision again, as a new version by the actor.

    The other arguments are those of `revise`. Raises `Conflict` also if it is the current decision, and
    `Review.DoesNotExist` if no version has this number.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
    if sent_before := _sent_before(evaluation, actor, version, submission):
        return sent_before
    older, current = evaluation.reviews.get(version=restored), evaluation.review
    if older == current:
        raise Conflict("This version is already the current decision.")
    detail = {"restored": restored, "reason": reason}
    review = _decide("restore", evaluation, actor, submission, detail, **_entries(older, evaluation))
    record_overturn(review=current, kind=Kind.REVISED, actor=actor, reason=reason, by=review)
    return review


def adopt(*, evaluation: Evaluation, answer: Review, actor: User) -> Review:
    """Adjudicate a locked record with the entries of an independent review, by the actor."""
    detail = {"adopted": answer.version}
    return _decide("adjudicate", evaluation, actor, uuid4(), detail, **_entries(answer, evaluation))


def _entries(older: Review, evaluation: Evaluation) -> Decision:
    """Return the entries of an earlier version for a new one."""
    place = (evaluation.source_import_id, evaluation.source_line)
    return {
        "scores": older.corrected_scores or {},
        "comments": older.comments or "",
        "origins": older.origins,
        "causes": older.causes,
        "extractor": older.extractor,
        "judged": older.judged if (older.source_import_id, older.source_line) == place else None,
    }


def _sent_before(evaluation: Evaluation, actor: User, version: int, submission: UUID) -> Review | None:
    """Return the review of a repeated submission. Raises unless the actor may replace the decision."""
    check_revise(actor, evaluation)
    if sent_before := review_versions.sent_before(submission, evaluation, actor):
        return sent_before
    check_version(evaluation, version)
    if not can(actor, "lead_review"):
        check_undisputed(evaluation)
    if not evaluation.is_decided:
        raise Conflict("This record is in the queue, so there is no decision to revise.")
    return None


@transaction.atomic
def close(*, evaluation_id: int, actor: User, comments: str) -> Review:
    """Complete a record that nobody can judge, without scores. The comments give the reason.

    Raises `Conflict` if the record has left the queue or somebody else has claimed it.
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
    basis: Basis | None = None,
    **decision: Unpack[Decision],
) -> Review:
    """Create a version and make it the current decision. `also` has further details of the audit event.

    `basis` is that of the version, if the caller has it.
    """
    detail = {**(also or {})}
    ended = decide_escalation(evaluation=evaluation, actor=reviewer)
    if ended is not None:
        detail["escalation"] = ended
    if closed := independent_reviews.close(evaluation, basis.open_reviews if basis else None):
        detail["same_scores"] = independent_reviews.same_scores(closed, decision["scores"])
    review = review_versions.add(
        evaluation,
        reviewer,
        submission,
        decision,
        escalation=ended,
        independent_reviews=closed,
        basis=basis,
    )
    make_current(
        action=action,
        evaluation=evaluation,
        review=review,
        also=detail,
        has_draft=basis is None or basis.has_draft,
    )
    return review


@transaction.atomic
def undo(*, review: Review) -> Evaluation:
    """Undo a decision for its reviewer. They get the record back, with their entries as a draft.

    Raises `Conflict` if the decision is no longer current, or if the record was decided after this
    independent review.
    """
    reviewer = review.reviewer
    evaluation = claims.lock_evaluation(review.evaluation_id)
    if independent_reviews.is_pending(evaluation, review):
        independent_reviews.withdraw(evaluation=evaluation, review=review)
        return evaluation
    check_current(evaluation, review)
    check_undisputed(evaluation)
    Withdrawal.objects.create(review=review, actor=reviewer)
    before = evaluation.human
    _restore(evaluation, review)
    SpotCheck.objects.filter(correction=review).update(
        correction=None, outcome=SpotCheck.Outcome.OPEN, note="", resolved_by=None, resolved_at=None
    )
    save_decision(evaluation, claimed_by=reviewer if evaluation.in_queue else None)
    rate_earlier_decision(evaluation)
    drafts.restore(review)
    events.record(
        "undo",
        actor=reviewer,
        evaluation=evaluation,
        version=review.version,
        human=human_changes(before, evaluation),
    )
    return evaluation


def _restore(evaluation: Evaluation, review: Review) -> None:
    """Restore the values that the record had before the review."""
    before = review.before or {}
    evaluation.human = before
    evaluation.review_id = before["review"]
    evaluation.is_outdated = before["is_outdated"]
    if before["escalation"]:
        reopen_escalation(evaluation, before["escalation"])
    independent_reviews.reopen(review)


@transaction.atomic
def reopen(*, evaluation_id: int, actor: User, reason: str) -> None:
    """Put a decided record back into the queue. The decision stays current until there is a newer one.

    A decision that confirmed a random sample does not stay current. Only its reviewer or a lead may reopen.
    Raises `Conflict` if the record is not decided.
    """
    evaluation = claims.lock_evaluation(evaluation_id)
    check_revise(actor, evaluation)
    if not evaluation.is_decided:
        raise Conflict("This record has no decision to reopen.")
    if evaluation.review is None:
        # The line says that the record is decided. The export needs a version to show that it is open.
        evaluation.review = review_versions.add_from_file(
            evaluation=evaluation, human=evaluation.human, actor=actor, conflict=None
        )
    reopened, before = evaluation.review, evaluation.human
    record_overturn(review=reopened, kind=Kind.REOPENED, actor=actor, reason=reason)
    if evaluation.is_confirmed:
        evaluation.review = None  # the line of an open sample is exported unchanged
    evaluation.human_review_status = TRANSITIONS["reopen", evaluation.human_review_status]
    save_decision(evaluation)
    events.record(
        "reopen",
        actor=actor,
        evaluation=evaluation,
        human=human_changes(before, evaluation),
        version=reopened.version,
        reason=reason,
    )


@transaction.atomic
def resolve_conflict(*, run: Run, conflict_id: int, version: int, theirs: bool, actor: User) -> None:
    """Resolve a conflict of a run for the decision of the file (`theirs`) or for the one made here.

    The file's five human_* values become a review version by the actor. `version` is the record's version
    that the actor saw. Raises `Conflict` if the record has changed, or if the conflict was resolved or
    replaced by a newer file.
    """
    check(actor, "resolve_conflict")
    conflict = FileConflict.objects.get(pk=conflict_id, run=run)
    # An import, a submit or another lead may change the record until it is locked.
    evaluation = claims.lock_evaluation(conflict.evaluation_id)
    conflict.refresh_from_db()
    if conflict.outcome != FileConflict.Outcome.OPEN:
        raise Conflict("This conflict is no longer open.")
    if evaluation.version != version:
        raise Conflict("This record has changed since you opened the page.")
    before = evaluation.human
    if theirs:
        _adopt_file_decision(evaluation, conflict, actor)
    conflict.outcome = FileConflict.Outcome.THEIRS if theirs else FileConflict.Outcome.OURS
    conflict.resolved_by, conflict.resolved_at = actor, timezone.now()
    conflict.save(update_fields=["outcome", "resolved_by", "resolved_at"])
    events.record(
        "resolve conflict",
        actor=actor,
        source=conflict.source,
        evaluation=evaluation,
        kept=conflict.outcome,
        version=evaluation.review.version if theirs and evaluation.review else None,
        line=conflict.line,
        theirs=conflict.human,
        human=human_changes(before, evaluation),
    )


def _adopt_file_decision(evaluation: Evaluation, conflict: FileConflict, actor: User) -> None:
    overturned = evaluation.review
    evaluation.review = review_versions.add_from_file(
        evaluation=evaluation, human=conflict.human, actor=actor, conflict=conflict
    )
    record_overturn(review=overturned, kind=Kind.FILE, actor=actor, by=evaluation.review)
    evaluation.human = conflict.human
    evaluation.is_outdated = evaluation.is_sampled = False
    evaluation.sample_probability = None
    if evaluation.is_done:
        decide_escalation(evaluation=evaluation, actor=actor)
        independent_reviews.close(evaluation)
    save_decision(evaluation)
