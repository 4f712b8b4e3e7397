"""Claim, renew, release and skip records.

The claim is on the record's own row, so that one row lock decides who gets the record.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from reviews.accounts.permissions import can, check, check_release
from reviews.audit import events, reveals
from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.database.statements import execute
from reviews.days import today
from reviews.models import AuditEvent, Draft, Escalation, Evaluation, Review, Run, Skip, User
from reviews.queue import allocation
from reviews.queue.claim_columns import (
    NO_CLAIM,
    claim_length,
    clear_claims,
    renewal_interval,
    save_claim,
    start_claim,
    start_prefetch,
)
from reviews.queue.next_record import Claimed, claim_first
from reviews.records.conflicts import RecordUnavailable, RunArchived

# The condition of the whole queue.
EVERYTHING = Q()
# The page of a reviewer prefetches this many records.
MOST_PREFETCHED = 2
# Only the run is joined, because it rarely changes. After a wait for the lock, PostgreSQL reads the locked
# row again, but not the joined ones: a claim or a review that was made meanwhile would be missing.
_LOCKED = CompiledQuery(
    lambda: (
        Evaluation.objects.without_large_columns()
        .filter(pk=parameter("key"))
        .select_related("run")
        .select_for_update(of=("self",), no_key=True)
    )
)


@transaction.atomic
def claim_next(*, run: Run, reviewer: User, condition: Q = EVERYTHING) -> Evaluation | None:
    """Return the record that the reviewer has claimed in this run, or else claim the next one.

    Records that are assigned to the reviewer come first, then those assigned to nobody. `condition` filters
    the records of the queue. Returns None if the reviewer has nothing left to claim.
    """
    check_not_archived(run)
    _serialize_claims(reviewer, keeps_plan=not condition)
    claimed = claim_first(run=run, claim=start_claim(run, reviewer), condition=condition)
    return _claimed(claimed, reviewer) if claimed else None


@transaction.atomic
def prefetch_next(
    *, run: Run, reviewer: User, after: Sequence[int], condition: Q = EVERYTHING
) -> Evaluation | None:
    """Claim the record to show after those in `after`: the one on the screen, then those already prefetched.

    `after` has the keys of the records. The claim is shorter than usual. A record that the reviewer has
    prefetched before is returned again. Returns None if nothing is available, and if `after` has
    `MOST_PREFETCHED` prefetched records already. Beyond that number, records of other pages are released.
    """
    check_not_archived(run)
    _serialize_claims(reviewer, keeps_plan=not condition)
    if len(after) > MOST_PREFETCHED:
        return None
    claim = start_prefetch(run, reviewer)
    claimed = claim_first(run=run, claim=claim, condition=condition, after=after)
    if not claimed:
        return None
    prefetched = _prefetched(run, reviewer)
    others = [key for key in prefetched if key not in {*after, claimed.evaluation.pk}]
    _release_prefetched(run, reviewer, others[: max(0, len(prefetched) - MOST_PREFETCHED)])
    return _claimed(claimed, reviewer, prefetched=True)


@transaction.atomic
def release_prefetched(*, run: Run, reviewer: User) -> int:
    """Release the records that were prefetched and never shown. Return their number."""
    return _release_prefetched(run, reviewer, _prefetched(run, reviewer))


def _prefetched(run: Run, reviewer: User) -> list[int]:
    """Return the keys of the records that the reviewer has prefetched, in their order."""
    rows = run.evaluations.in_queue().claimed().filter(claimed_by=reviewer, claim_is_prefetched=True)
    return list(rows.order_by("claimed_until", "pk").values_list("pk", flat=True))


def _release_prefetched(run: Run, reviewer: User, keys: list[int]) -> int:
    """Release the records that the reviewer still has prefetched. Return how many these were."""
    if not keys:
        return 0
    rows = run.evaluations.filter(pk__in=keys, claimed_by=reviewer, claim_is_prefetched=True)
    # A record that another transaction has locked is on its way to a screen, or its claim expires soon.
    locked = rows.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True)
    released = list(locked)
    if released:
        clear_claims(run.evaluations.filter(pk__in=released))
        events.record("release prefetched", actor=reviewer, run=run, evaluations=released)
    return len(released)


_LOCK_PERSON = "SELECT FROM person WHERE id = %s FOR NO KEY UPDATE"
# PostgreSQL keeps the plan of a claim after it has made five others, which takes longer than five claims.
# Until the transaction ends, it keeps the first one of each statement.
_LOCK_PERSON_AND_KEEP_PLAN = """
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true) FROM person WHERE id = %s
    FOR NO KEY UPDATE
"""


def _serialize_claims(reviewer: User, *, keeps_plan: bool = False) -> None:
    """Serialize the claims of one reviewer, so that two tabs or a double click get the same record.

    A change of a run's members takes its turn with the claims of people who lose access, too.
    """
    check(reviewer, "review_evaluation")
    execute(_LOCK_PERSON_AND_KEEP_PLAN if keeps_plan else _LOCK_PERSON, [reviewer.pk])


def _claimed(claimed: Claimed, reviewer: User, **detail: Any) -> Evaluation:
    evaluation = claimed.evaluation
    if not claimed.was_claimed:
        _record_claim(evaluation, reviewer, claimed.draft, **detail)
    return evaluation


def _record_claim(evaluation: Evaluation, reviewer: User, draft: int | None, **detail: Any) -> None:
    """Write the audit event of a claim. `draft` is the revision of the draft that an earlier claim left."""
    if draft is not None:
        detail["draft"] = draft
    events.record("claim", actor=reviewer, evaluation=evaluation, **detail)


def _draft_revision(evaluation: Evaluation, reviewer: User) -> int | None:
    drafts = Draft.objects.filter(evaluation=evaluation, reviewer=reviewer)
    return drafts.values_list("revision", flat=True).first()


@transaction.atomic
def claim(*, evaluation_id: int, reviewer: User, take_over: bool = False) -> Evaluation:
    """Claim a certain record. Raises `RecordUnavailable` if somebody else has claimed or decided it.

    Only leads may claim records that are escalated or assigned to somebody else, and `take_over` a record
    from its reviewer. A lead who claims a record on which independent reviews differ may read them, and can
    submit no independent review afterwards. Raises `Evaluation.DoesNotExist` also for a record of a run that
    the reviewer may not see.
    """
    _serialize_claims(reviewer)
    evaluation = lock_evaluation(evaluation_id)
    if not evaluation.run.is_visible_to(reviewer):
        raise Evaluation.DoesNotExist
    if take_over:
        check(reviewer, "lead_review")
        _release(evaluation, reviewer)
    check_available(evaluation, reviewer)
    assignee = evaluation.assigned_to
    if assignee and assignee != reviewer and not can(reviewer, "lead_review"):
        raise RecordUnavailable(f"This record is assigned to {assignee.name}.")
    save_claim(evaluation, start_claim(evaluation.run, reviewer))
    evaluation.skips.filter(reviewer=reviewer).delete()
    if evaluation.is_escalated and evaluation.independent_reviews.filter(is_open=True).exists():
        reveals.record_reveal(evaluation=evaluation, reader=reviewer, how=reveals.How.INDEPENDENT_REVIEWS)
    _record_claim(evaluation, reviewer, _draft_revision(evaluation, reviewer))
    return evaluation


@transaction.atomic
def renew(*, evaluation_id: int, reviewer: User) -> dt.datetime:
    """Renew a claim and return when it expires. Raises `RecordUnavailable`.

    An expired claim is renewed, too, unless somebody else has claimed the record: see `expired_claim_notice`.
    """
    evaluation = lock_evaluation(evaluation_id)
    check_claimed_by(evaluation, reviewer)
    return extend_claim(evaluation=evaluation, reviewer=reviewer)


def extend_claim(*, evaluation: Evaluation, reviewer: User) -> dt.datetime:
    """Renew the claim on a locked record and return when it expires. An expired claim is taken up again."""
    if not evaluation.is_claimed:
        _record_claim(evaluation, reviewer, _draft_revision(evaluation, reviewer), renewed=True)
    claim = start_claim(evaluation.run, reviewer)
    save_claim(evaluation, claim)
    assert claim.claimed_until
    return claim.claimed_until


def extend_claim_if_due(evaluation: Evaluation, reviewer: User) -> None:
    """Renew the claim on a locked record at most once in a renewal interval: each renewal writes the row."""
    unchanged_until = timezone.now() + claim_length(evaluation.run) - renewal_interval(evaluation.run)
    if evaluation.claimed_until is None or evaluation.claimed_until < unchanged_until:
        extend_claim(evaluation=evaluation, reviewer=reviewer)


@transaction.atomic
def release(*, evaluation_id: int, actor: User) -> None:
    """Release a record: the actor's own, or, as a lead, anybody's."""
    _release(lock_evaluation(evaluation_id), actor)


def _release(evaluation: Evaluation, actor: User) -> None:
    if evaluation.claimed_by is None:
        return
    check_release(actor, evaluation)
    claimed_by = evaluation.claimed_by.username
    clear_claim(evaluation)
    events.record("release", actor=actor, evaluation=evaluation, claimed_by=claimed_by)


@transaction.atomic
def skip(*, evaluation_id: int, reviewer: User) -> None:
    """Release a record and leave it out of the reviewer's queue. Raises `RecordUnavailable`."""
    check(reviewer, "review_evaluation")
    evaluation = lock_evaluation(evaluation_id)
    check_available(evaluation, reviewer)
    clear_claim(evaluation)
    Skip.objects.get_or_create(evaluation=evaluation, reviewer=reviewer)
    events.record("skip", actor=reviewer, evaluation=evaluation)


@transaction.atomic
def unskip(*, evaluation_id: int, reviewer: User) -> None:
    evaluation = lock_evaluation(evaluation_id)
    count, _ = evaluation.skips.filter(reviewer=reviewer).delete()
    if count:
        events.record("unskip", actor=reviewer, evaluation=evaluation)


@transaction.atomic
def unskip_all(*, run: Run, reviewer: User) -> int:
    """Return all skipped records of a run to the reviewer's queue. Return their number."""
    count, _ = Skip.objects.filter(evaluation__in=run.evaluations.in_queue(), reviewer=reviewer).delete()
    if count:
        events.record("unskip all", actor=reviewer, run=run, count=count)
    return count


def lock_evaluation(evaluation_id: int) -> Evaluation:
    """Lock the row of a record until the transaction ends, and load it.

    Claims, skips, decisions and imports of one record take turns at this lock. The large columns are loaded
    when they are read. Raises `Evaluation.DoesNotExist`, and `RunArchived`.
    """
    # A statement that waited while the run was read again finds no row. The next one sees the new row.
    evaluation = _LOCKED.first(key=evaluation_id) or _LOCKED.first(key=evaluation_id)
    if evaluation is None:
        raise Evaluation.DoesNotExist
    check_not_archived(evaluation.run)
    return evaluation


def check_not_archived(run: Run) -> None:
    if run.archived_at:
        raise RunArchived(run.name)


def check_available(evaluation: Evaluation, reviewer: User, *, waiting: Sequence[int] | None = None) -> None:
    """Raise `RecordUnavailable` unless the reviewer may claim the record now.

    `waiting` are the keys of the open independent reviews, if the caller has them.
    """
    review = evaluation.review
    if review and not evaluation.in_queue:
        raise RecordUnavailable(late_reason(review, reviewer))
    if not evaluation.in_queue:
        raise RecordUnavailable(
            f"This record is not in the queue: its status is {evaluation.human_review_status}."
        )
    if evaluation.is_escalated and not can(reviewer, "lead_review"):
        raise RecordUnavailable(_escalated_reason(evaluation))
    if not evaluation.is_escalated:
        _check_independent(evaluation, reviewer, waiting)
    check_unclaimed(evaluation, reviewer)


def late_reason(review: Review, reader: User) -> str:
    """Say who has decided the record, and when."""
    name = "You" if review.reviewer == reader else review.reviewer.name
    return f"{name} submitted this at {format_time(review.submitted_at)}."


def _check_independent(evaluation: Evaluation, reviewer: User, waiting: Sequence[int] | None) -> None:
    """Raise `RecordUnavailable` if the record waits for independent reviews of others only."""
    are_open = evaluation.independent_reviews.filter(is_open=True)
    no_reviews = waiting is not None and not waiting
    given = {} if no_reviews else dict(are_open.values_list("reviewer", "review__submitted_at"))
    if reviewer.pk in given:
        at = format_time(given[reviewer.pk])
        raise RecordUnavailable(f"You submitted your review at {at}. Waiting for the other reviewers.")
    are_wanted = (
        bool(given) or allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id) > 1
    )
    if are_wanted and reveals.has_read_independent_reviews(evaluation, reviewer):
        raise RecordUnavailable(
            "You have read the reviews of others, so somebody else has to review this record. "
            "A lead can also decide between the reviews submitted so far."
        )


def _escalated_reason(evaluation: Evaluation) -> str:
    raised = Escalation.objects.get(evaluation=evaluation, outcome=Escalation.Outcome.OPEN)
    if raised.kind == Escalation.Kind.DISAGREEMENT:
        return f"Reviewers disagree: this was sent to a lead at {format_time(raised.raised_at)}."
    return f"{raised.raised_by.name} sent this to a lead at {format_time(raised.raised_at)}."


def check_unclaimed(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` if somebody else has claimed the record."""
    if evaluation.claimed_by_id != reviewer.pk and evaluation.claimed_by and evaluation.is_claimed:
        since = claimed_since(evaluation) or timezone.now()
        raise RecordUnavailable(
            f"{evaluation.claimed_by.name} has been reviewing this since {format_time(since)}."
        )


def claimed_since(evaluation: Evaluation) -> dt.datetime | None:
    """Return when the current claim began; None if the audit log has no event of it."""
    claims = AuditEvent.objects.filter(evaluation=evaluation, action="claim", actor=evaluation.claimed_by)
    return claims.values_list("at", flat=True).first()


def check_claimed_by(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` unless the reviewer has claimed the record. The claim may have expired."""
    check_available(evaluation, reviewer)
    if evaluation.claimed_by_id != reviewer.pk:
        raise RecordUnavailable("Your claim on this record has ended. Claim it again to continue.")


def expired_claim_notice(evaluation: Evaluation, reviewer: User) -> str:
    """Return the notice for a reviewer whose expired claim is about to be renewed; empty for other claims."""
    if evaluation.claimed_by_id != reviewer.pk or evaluation.claimed_until is None or evaluation.is_claimed:
        return ""
    return (
        f"Your claim expired at {format_time(evaluation.claimed_until)}. "
        "Nobody else opened this record, so it is yours again."
    )


def format_time(moment: dt.datetime) -> str:
    """Format a time for a sentence: without the date if it is today."""
    return f"{moment:%H:%M} UTC" if moment.date() == today() else f"{moment:%Y-%m-%d %H:%M} UTC"


def clear_claim(evaluation: Evaluation) -> None:
    """End the claim on a locked record."""
    save_claim(evaluation, NO_CLAIM)
