"""Escalate records to a lead, withdraw and resolve escalations.

A record with an open escalation is not in the queue. It returns when its reviewer withdraws the escalation or
a lead answers it. A lead can also review the record, or close it without scores.
"""

from typing import Any

from django.db import transaction

from reviews.accounts.permissions import can, check, check_withdraw, people_in
from reviews.audit import events, reveals
from reviews.models import Escalation, Evaluation, User
from reviews.queue import claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, save_claim, start_claim
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import decisions, independent_reviews
from reviews.review.escalation_rows import end_escalation, open_escalation
from reviews.review.preconditions import check_decidable

Kind, Outcome = Escalation.Kind, Escalation.Outcome
# Reasons to escalate a record: stored word -> text on pages.
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
    escalation = open_escalation(
        evaluation=evaluation, kind=Kind(kind), actor=reviewer, reason=reason, note=note
    )
    evaluation.save(update_fields=["is_escalated", *assign_claim(evaluation, NO_CLAIM)])
    detail: dict[str, Any] = {"kind": kind, "reason": reason, "note": note, "escalation": escalation.pk}
    events.record("escalate", actor=reviewer, evaluation=evaluation, **detail)
    return escalation


@transaction.atomic
def withdraw(*, escalation_id: int, actor: User) -> Evaluation:
    """Withdraw one's own escalation and claim the record again.

    Raises `Conflict` if it is resolved, or if a lead has claimed the record.
    """
    escalation, evaluation = _open(escalation_id)
    check_withdraw(actor, escalation)
    end_escalation(escalation=escalation, evaluation=evaluation, outcome=Outcome.WITHDRAWN, actor=actor)
    evaluation.save(update_fields=["is_escalated"])
    if evaluation.in_queue:
        check_decidable(evaluation, actor)
        save_claim(evaluation, start_claim(evaluation.run, actor))
    events.record("withdraw escalation", actor=actor, evaluation=evaluation)
    return evaluation


@transaction.atomic
def resolve(*, escalation_id: int, actor: User, outcome: str, answer: str) -> None:
    """Resolve an escalation. `outcome` is "returned", "closed" or "upheld".

    A returned record is in the queue again, unless a file has made it "Not Required"; if independent reviews
    differ, it waits for one more. A closed record is completed without scores, with the reason and the answer
    as comments. An upheld decision stays current. Raises `Conflict` if the escalation is resolved, or if the
    record does not allow the outcome.

    Leads see in lists how the independent reviews of such a record differ, so no lead can add one after it
    is returned.
    """
    check(actor, "lead_review")
    escalation, evaluation = _open(escalation_id)
    if outcome == Outcome.UPHELD and not evaluation.is_decided:
        raise Conflict("This record has no current decision to uphold.")
    if outcome == Outcome.RETURNED and escalation.kind == Kind.DISAGREEMENT and evaluation.is_decided:
        raise Conflict("This record is decided. Uphold the decision, or revise it.")
    if outcome == Outcome.CLOSED:
        reason = REASONS.get(escalation.reason, "")
        comments = ". ".join(part for part in (reason, answer) if part)
        decisions.close(evaluation_id=evaluation.pk, actor=actor, comments=comments)
        evaluation.refresh_from_db()
    elif outcome == Outcome.UPHELD:
        independent_reviews.close(evaluation)
    elif outcome != Outcome.RETURNED:
        raise ValueError(outcome)
    else:
        _return_to_queue(escalation, evaluation, actor)
    end_escalation(
        escalation=escalation, evaluation=evaluation, outcome=Outcome(outcome), actor=actor, answer=answer
    )
    evaluation.save(update_fields=["is_escalated"])
    detail: dict[str, Any] = {"outcome": outcome, "answer": answer, "escalation": escalation_id}
    events.record("resolve escalation", actor=actor, evaluation=evaluation, **detail)


@transaction.atomic
def take_side(*, escalation_id: int, review_id: int, actor: User) -> Evaluation:
    """Settle a disagreement as a lead, with the entries of one of the independent reviews.

    Raises `Conflict` if the disagreement is resolved or about a decided record, if the review is no longer
    one of those that differ, or if somebody else has claimed the record.
    """
    check(actor, "lead_review")
    escalation, evaluation = _open(escalation_id)
    sides = {one.review_id: one.review for one in independent_reviews.open_reviews(evaluation)}
    if escalation.kind != Kind.DISAGREEMENT or not evaluation.in_queue or review_id not in sides:
        raise Conflict("This review is no longer one of those that differ.")
    check_decidable(evaluation, actor)
    reveals.record_reveal(evaluation=evaluation, reader=actor, how=reveals.How.INDEPENDENT_REVIEWS)
    decisions.adopt(evaluation=evaluation, answer=sides[review_id], actor=actor)
    return evaluation


def _return_to_queue(escalation: Escalation, evaluation: Evaluation, actor: User) -> None:
    if evaluation.claimed_by_id == actor.pk:
        claims.clear_claim(evaluation)
    if escalation.kind == Kind.DISAGREEMENT:
        for lead in people_in(evaluation.run):
            if can(lead, "lead_review"):
                reveals.record_reveal(evaluation=evaluation, reader=lead, how=reveals.How.INDEPENDENT_REVIEWS)


@transaction.atomic
def cancel(*, escalation_id: int, actor: User) -> None:
    """Withdraw anybody's question as a lead. The record is in the queue again. Raises `Conflict`."""
    check(actor, "lead_review")
    escalation, evaluation = _open(escalation_id)
    end_escalation(escalation=escalation, evaluation=evaluation, outcome=Outcome.WITHDRAWN, actor=actor)
    evaluation.save(update_fields=["is_escalated"])
    events.record(
        "resolve escalation", actor=actor, evaluation=evaluation, outcome=Outcome.WITHDRAWN, answer=""
    )


def find_open(evaluation: Evaluation) -> Escalation | None:
    return evaluation.escalations.filter(outcome=Outcome.OPEN).select_related("raised_by").first()


def find_answer(evaluation: Evaluation) -> Escalation | None:
    """Return the last escalation that a lead returned to the queue with an answer."""
    returned = evaluation.escalations.filter(outcome=Outcome.RETURNED).exclude(kind=Kind.DISAGREEMENT)
    return returned.select_related("raised_by", "resolved_by").order_by("-pk").first()


def _open(escalation_id: int) -> tuple[Escalation, Evaluation]:
    """Lock the record of an escalation, and return both. Raises `Conflict` if it is resolved."""
    evaluation = claims.lock_evaluation(Escalation.objects.get(pk=escalation_id).evaluation_id)
    escalation = Escalation.objects.get(pk=escalation_id)
    if escalation.outcome != Outcome.OPEN:
        raise Conflict(_ended_reason(escalation))
    return escalation, evaluation


def _ended_reason(escalation: Escalation) -> str:
    if escalation.outcome == Outcome.WITHDRAWN or not escalation.resolved_by or not escalation.resolved_at:
        return "This escalation was already withdrawn."
    who, time = escalation.resolved_by.name, claims.format_time(escalation.resolved_at)
    return f"{who} resolved this escalation at {time}: {escalation.get_outcome_display()}."
