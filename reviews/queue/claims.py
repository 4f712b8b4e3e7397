"""Who holds what: claims, skips, and lists of a run.

A claim is two columns on the evaluation itself, so that one locked row decides.
"""

import datetime as dt
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from reviews.accounts.permissions import can, check, check_release
from reviews.audit import events, reveals
from reviews.models import AuditEvent, Draft, Escalation, Evaluation, Run, Skip, User
from reviews.queue import allocation
from reviews.queue.claim_columns import NO_CLAIM, clear_claims, save_claim, start_claim, start_prefetch
from reviews.queue.claim_length import claim_length, renewal_interval
from reviews.queue.next_record import Claimed, claim_first


class RecordUnavailable(Exception):
    """The record cannot be claimed or renewed; the reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


EVERYTHING = Q()


@transaction.atomic
def claim_next(*, run: Run, reviewer: User, condition: Q = EVERYTHING) -> Evaluation | None:
    """The record the reviewer holds in this run, else the next free one, else None.

    `condition` is on the evaluation and narrows the queue. Of a record and a spare one that the reviewer
    holds, it is the record. What is assigned to them comes first, then what is assigned to nobody.
    """
    _take_turns(reviewer)
    claimed = claim_first(run=run, claim=start_claim(run, reviewer), condition=condition)
    return _claimed(claimed, reviewer) if claimed else None


@transaction.atomic
def prefetch_next(*, run: Run, reviewer: User, current: int, condition: Q = EVERYTHING) -> Evaluation | None:
    """Claim the record to show after `current`, the key of the one on the screen.

    The claim is shorter than usual. A record that the reviewer has prefetched already is returned again.
    """
    _take_turns(reviewer)
    claim = start_prefetch(run, reviewer)
    claimed = claim_first(run=run, claim=claim, condition=condition, current=current)
    return _claimed(claimed, reviewer, prefetched=True) if claimed else None


@transaction.atomic
def release_prefetched(*, run: Run, reviewer: User) -> int:
    """Give back what was fetched ahead and not looked at; returns how many."""
    prefetched = run.evaluations.in_queue().claimed().filter(claimed_by=reviewer, claim_is_prefetched=True)
    keys = list(prefetched.select_for_update(no_key=True).values_list("pk", flat=True))
    if keys:
        clear_claims(run.evaluations.filter(pk__in=keys))
        events.record("release prefetched", actor=reviewer, run=run, evaluations=keys)
    return len(keys)


def _take_turns(reviewer: User) -> None:
    """Let two tabs (or a double click) of one reviewer wait for each other: both get the same record."""
    check(reviewer, "review_evaluation")
    User.objects.select_for_update(no_key=True).only("pk").get(pk=reviewer.pk)


def _claimed(claimed: Claimed, reviewer: User, **detail: Any) -> Evaluation:
    evaluation = claimed.evaluation
    if not claimed.was_claimed:
        _tell_of_claim(evaluation, reviewer, claimed.draft, **detail)
    return evaluation


def _tell_of_claim(evaluation: Evaluation, reviewer: User, draft: int | None, **detail: Any) -> None:
    """Write the event of a claim; `draft` is the revision of what an earlier claim left to go on with."""
    if draft is not None:
        detail["draft"] = draft
    events.record("claim", actor=reviewer, run=evaluation.run, evaluation=evaluation, **detail)


def _draft_left(evaluation: Evaluation, reviewer: User) -> int | None:
    left = Draft.objects.filter(evaluation=evaluation, reviewer=reviewer)
    return left.values_list("revision", flat=True).first()


@transaction.atomic
def claim(*, evaluation_id: int, reviewer: User) -> Evaluation:
    """Claim one very record. Raises `RecordUnavailable` when somebody else holds it or it has left the queue.

    What is escalated, or assigned to somebody else, is for leads. Who claims a record on which independent
    reviews differ may read them from then on, and gives none of their own any more.
    """
    check(reviewer, "review_evaluation")
    evaluation = lock_evaluation(evaluation_id)
    check_available(evaluation, reviewer)
    assignee = evaluation.assigned_to
    if assignee and assignee != reviewer and not can(reviewer, "lead_review"):
        raise RecordUnavailable(f"This record is assigned to {assignee.name}.")
    save_claim(evaluation, start_claim(evaluation.run, reviewer))
    evaluation.skips.filter(reviewer=reviewer).delete()
    if evaluation.is_escalated and evaluation.independent_reviews.filter(is_open=True).exists():
        reveals.record_reveal(evaluation, reviewer, reveals.How.INDEPENDENT_REVIEWS)
    _tell_of_claim(evaluation, reviewer, _draft_left(evaluation, reviewer))
    return evaluation


@transaction.atomic
def renew(*, evaluation_id: int, reviewer: User) -> dt.datetime:
    """Hold on to a record for another while; returns until when. Raises `RecordUnavailable`.

    A claim that ran out is renewed unless somebody else has the record by now: see `expired_claim_notice`.
    """
    evaluation = lock_evaluation(evaluation_id)
    check_claimed_by(evaluation, reviewer)
    return extend_claim(evaluation, reviewer)


def extend_claim(evaluation: Evaluation, reviewer: User) -> dt.datetime:
    """Extend the claim on a locked record. Reclaim the record if the claim had expired."""
    if not evaluation.is_claimed:
        _tell_of_claim(evaluation, reviewer, _draft_left(evaluation, reviewer), regained=True)
    claim = start_claim(evaluation.run, reviewer)
    save_claim(evaluation, claim)
    assert claim.claimed_until
    return claim.claimed_until


def extend_claim_if_due(evaluation: Evaluation, reviewer: User) -> None:
    """Extend the claim on a locked record, once the renewal interval has passed: each time writes the row."""
    unchanged_until = timezone.now() + claim_length(evaluation.run) - renewal_interval(evaluation.run)
    if evaluation.claimed_until is None or evaluation.claimed_until < unchanged_until:
        extend_claim(evaluation, reviewer)


@transaction.atomic
def release(*, evaluation_id: int, actor: User) -> None:
    """Give a record back to everybody: the holder's own, or as a lead anybody's."""
    evaluation = lock_evaluation(evaluation_id)
    if evaluation.claimed_by is None:
        return
    check_release(actor, evaluation)
    holder = evaluation.claimed_by.username
    clear_claim(evaluation)
    events.record("release", actor=actor, run=evaluation.run, evaluation=evaluation, holder=holder)


@transaction.atomic
def skip(*, evaluation_id: int, reviewer: User) -> None:
    """Put a record off: free for others now, last for this reviewer. Raises `RecordUnavailable`."""
    check(reviewer, "review_evaluation")
    evaluation = lock_evaluation(evaluation_id)
    check_available(evaluation, reviewer)
    clear_claim(evaluation)
    Skip.objects.get_or_create(evaluation=evaluation, reviewer=reviewer)
    events.record("skip", actor=reviewer, run=evaluation.run, evaluation=evaluation)


@transaction.atomic
def unskip(*, evaluation_id: int, reviewer: User) -> None:
    """Bring one record that the reviewer skipped back into their queue."""
    evaluation = lock_evaluation(evaluation_id)
    count, _ = evaluation.skips.filter(reviewer=reviewer).delete()
    if count:
        events.record("unskip", actor=reviewer, run=evaluation.run, evaluation=evaluation)


@transaction.atomic
def unskip_all(*, run: Run, reviewer: User) -> int:
    """Bring all that the reviewer skipped in a run back into their queue; returns how many."""
    count, _ = Skip.objects.filter(evaluation__in=run.evaluations.in_queue(), reviewer=reviewer).delete()
    if count:
        events.record("unskip all", actor=reviewer, run=run, count=count)
    return count


def lock_evaluation(evaluation_id: int) -> Evaluation:
    """The evaluation with its row locked until the transaction ends. Raises `Evaluation.DoesNotExist`.

    Claim, skip, submit and import of one record take turns here: each sees what the other did. What the
    judge and the models wrote is loaded when it is asked for.
    """
    # Only the run, which never changes, is joined: after a wait for the lock PostgreSQL renews the locked row
    # alone, and holder and review would be missing that came meanwhile.
    rows = Evaluation.objects.select_related("run").select_for_update(of=("self",), no_key=True)
    return rows.without_large_columns().get(pk=evaluation_id)


def check_available(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` unless the reviewer may claim the record now."""
    review = evaluation.review
    if review and not evaluation.in_queue:
        raise RecordUnavailable(f"{review.reviewer.name} submitted this at {clock(review.submitted_at)}.")
    if not evaluation.in_queue:
        raise RecordUnavailable(
            f"This record is not in the queue: its status is {evaluation.human_review_status}."
        )
    if evaluation.is_escalated and not can(reviewer, "lead_review"):
        raise RecordUnavailable(_with_a_lead(evaluation))
    if not evaluation.is_escalated:
        _check_independent(evaluation, reviewer)
    check_unclaimed(evaluation, reviewer)


def _check_independent(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` if the record waits for independent reviews of others only."""
    given = dict(
        evaluation.independent_reviews.filter(is_open=True).values_list("reviewer", "review__submitted_at")
    )
    if reviewer.pk in given:
        at = clock(given[reviewer.pk])
        raise RecordUnavailable(f"You submitted your review at {at}. Waiting for the other reviewers.")
    are_wanted = (
        bool(given) or allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id) > 1
    )
    if are_wanted and reveals.has_read_independent_reviews(evaluation, reviewer):
        raise RecordUnavailable(
            "You have read the reviews of others, so somebody else has to review this record. "
            "A lead can also decide between the reviews submitted so far."
        )


def _with_a_lead(evaluation: Evaluation) -> str:
    raised = Escalation.objects.get(evaluation=evaluation, outcome=Escalation.Outcome.OPEN)
    if raised.kind == Escalation.Kind.DISAGREEMENT:
        return f"Reviewers disagree: this was sent to a lead at {clock(raised.raised_at)}."
    return f"{raised.raised_by.name} handed this to a lead at {clock(raised.raised_at)}."


def check_unclaimed(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` if somebody else holds the record."""
    if evaluation.claimed_by_id != reviewer.pk and evaluation.claimed_by and evaluation.is_claimed:
        since = claimed_since(evaluation) or timezone.now()
        raise RecordUnavailable(f"{evaluation.claimed_by.name} has been reviewing this since {clock(since)}.")


def claimed_since(evaluation: Evaluation) -> dt.datetime | None:
    """When whoever claimed the record last did so; None where nothing tells."""
    claims = AuditEvent.objects.filter(evaluation=evaluation, action="claim", actor=evaluation.claimed_by)
    return claims.values_list("at", flat=True).first()


def check_claimed_by(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `RecordUnavailable` unless the reviewer holds the record, or did until the claim ran out."""
    check_available(evaluation, reviewer)
    if evaluation.claimed_by_id != reviewer.pk:
        raise RecordUnavailable("You do not hold this record any more. Claim it again to go on.")


def expired_claim_notice(evaluation: Evaluation, reviewer: User) -> str:
    """What to tell a reviewer who comes back to a record their claim on ran out for; empty if it did not.

    Of the evaluation as it was loaded before it is renewed.
    """
    if evaluation.claimed_by_id != reviewer.pk or evaluation.claimed_until is None or evaluation.is_claimed:
        return ""
    return (
        f"Your hold ended at {clock(evaluation.claimed_until)}. "
        "Nobody else opened this record, so it is yours again."
    )


def clock(moment: dt.datetime) -> str:
    """A moment as sentences have it: the time of today, else the day too."""
    today = moment.date() == timezone.now().date()
    return f"{moment:%H:%M} UTC" if today else f"{moment:%Y-%m-%d %H:%M} UTC"


def clear_claim(evaluation: Evaluation) -> None:
    """End the claim on a locked record."""
    save_claim(evaluation, NO_CLAIM)
