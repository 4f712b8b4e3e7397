"""Escalate records to a lead, withdraw and resolve escalations.

A record with an open escalation is not in the queue. It returns when its reviewer withdraws the escalation or
a lead answers it. A lead can also review the record, or close it without scores.
"""

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import check, check_withdraw
from reviews.audit import events
from reviews.models import Escalation, Evaluation, User
from reviews.queue import claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, save_claim, start_claim
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import decisions, independent_reviews
from reviews.review.preconditions import check_decidable

Kind, Outcome = Escalation.Kind, Escalation.Outcome
# Why somebody cannot judge a record: the word that is kept, and how pages say it.
REASONS = {
    "no response": "There is no response to judge",
    "no reference": "There is no reference answer",
    "unreadable output": "The judge's output is unreadable",
    "out of my field": "Outside my expertise",
    "question": "I have a question",
}


@transaction.atomic
def escalate(*, evaluation_id: int, reviewer: User, kind: str, reason: str, note: str) -> Escalation:
    """Send a record to a lead and keep the reviewer's draft. Raises `RecordUnavailable`.

    `kind` is one of `Kind`, `reason` one of `REASONS` or empty.
    """
    check(reviewer, "review_evaluation")
    evaluation = claims.lock_evaluation(evaluation_id)
    claims.check_available(evaluation, reviewer)
    if evaluation.is_escalated:
        raise RecordUnavailable("This record has already been sent to a lead.")
    escalation = Escalation.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        kind=Kind(kind),
        reason=reason,
        note=note,
        raised_by=reviewer,
        outcome=Outcome.OPEN,
    )
    evaluation.is_escalated = True
    evaluation.save(update_fields=["is_escalated", *assign_claim(evaluation, NO_CLAIM)])
    events.record(
        "escalate",
        actor=reviewer,
        run=evaluation.run,
        evaluation=evaluation,
        kind=kind,
        reason=reason,
        note=note,
    )
    return escalation


@transaction.atomic
def withdraw(*, escalation_id: int, actor: User) -> Evaluation:
    """Withdraw one's own escalation and claim the record again.

    Raises `Conflict` when it is settled, or a lead is at the record.
    """
    escalation, evaluation = _open(escalation_id)
    check_withdraw(actor, escalation)
    _end(escalation, evaluation, Outcome.WITHDRAWN, actor)
    if evaluation.in_queue:
        check_decidable(evaluation, actor)
        save_claim(evaluation, start_claim(evaluation.run, actor))
    events.record("withdraw escalation", actor=actor, run=evaluation.run, evaluation=evaluation)
    return evaluation


@transaction.atomic
def resolve(*, escalation_id: int, actor: User, outcome: str, answer: str) -> None:
    """Answer an escalation: "returned" to the queue, or "closed" because nobody can judge the record.

    Closed, it is completed without scores, with the reason and the answer as its comments. Where independent
    reviews differ, returned means that one more is wanted; of a record that is decided the decision is
    "upheld". Raises `Conflict` when it is settled already, or that outcome is none for the record as it is.
    """
    check(actor, "lead_review")
    escalation, evaluation = _open(escalation_id)
    if outcome == Outcome.UPHELD and evaluation.in_queue:
        raise Conflict("No decision is in force here that could stand.")
    if outcome == Outcome.RETURNED and escalation.kind == Kind.DISAGREEMENT and not evaluation.in_queue:
        raise Conflict("This record is decided: let the decision stand, or revise it.")
    if outcome == Outcome.CLOSED:
        reason = REASONS.get(escalation.reason, "")
        comments = ". ".join(part for part in (reason, answer) if part)
        decisions.close(evaluation_id=evaluation.pk, actor=actor, comments=comments)
        evaluation.refresh_from_db()
    elif outcome == Outcome.UPHELD:
        independent_reviews.close(evaluation)
    elif outcome != Outcome.RETURNED:
        raise ValueError(outcome)
    elif evaluation.claimed_by_id == actor.pk:
        claims.clear_claim(evaluation)
    _end(escalation, evaluation, Outcome(outcome), actor, answer)
    events.record(
        "resolve escalation",
        actor=actor,
        run=evaluation.run,
        evaluation=evaluation,
        outcome=outcome,
        answer=answer,
    )


def find_open(evaluation: Evaluation) -> Escalation | None:
    """The escalation of a record that no lead has settled yet."""
    return evaluation.escalations.filter(outcome=Outcome.OPEN).select_related("raised_by").first()


def find_answer(evaluation: Evaluation) -> Escalation | None:
    """The last escalation that a lead returned to the queue with an answer."""
    returned = evaluation.escalations.filter(outcome=Outcome.RETURNED).exclude(kind=Kind.DISAGREEMENT)
    return returned.select_related("raised_by", "resolved_by").order_by("-pk").first()


def _open(escalation_id: int) -> tuple[Escalation, Evaluation]:
    """An escalation and its record, locked. Raises `Conflict` when it is settled."""
    evaluation = claims.lock_evaluation(Escalation.objects.get(pk=escalation_id).evaluation_id)
    escalation = Escalation.objects.get(pk=escalation_id)
    if escalation.outcome != Outcome.OPEN:
        raise Conflict(f"This is settled already: {escalation.get_outcome_display()}.")
    return escalation, evaluation


def _end(
    escalation: Escalation, evaluation: Evaluation, outcome: Escalation.Outcome, actor: User, answer: str = ""
) -> None:
    escalation.outcome, escalation.answer = outcome, answer
    escalation.resolved_by, escalation.resolved_at = actor, timezone.now()
    escalation.save(update_fields=["outcome", "answer", "resolved_by", "resolved_at"])
    evaluation.is_escalated = False
    evaluation.save(update_fields=["is_escalated"])
