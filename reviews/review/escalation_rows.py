"""Open and end escalations of a locked record. Callers save the record's `is_escalated`."""

from django.utils import timezone

from reviews.models import Escalation, Evaluation, User


def open_escalation(
    *, evaluation: Evaluation, kind: Escalation.Kind, actor: User, reason: str = "", note: str = ""
) -> Escalation:
    """Create an open escalation. A record has at most one."""
    evaluation.is_escalated = True
    return Escalation.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        kind=kind,
        reason=reason,
        note=note,
        raised_by=actor,
        outcome=Escalation.Outcome.OPEN,
    )


def decide_escalation(*, evaluation: Evaluation, actor: User) -> int | None:
    """End the open escalation by a decision. Return its key, or None without one."""
    if not evaluation.is_escalated:
        return None
    escalation = Escalation.objects.get(evaluation=evaluation, outcome=Escalation.Outcome.OPEN)
    end_escalation(
        escalation=escalation, evaluation=evaluation, outcome=Escalation.Outcome.DECIDED, actor=actor
    )
    return escalation.pk


def end_escalation(
    *,
    escalation: Escalation,
    evaluation: Evaluation,
    outcome: Escalation.Outcome,
    actor: User,
    answer: str = "",
) -> None:
    escalation.outcome, escalation.answer = outcome, answer
    escalation.resolved_by, escalation.resolved_at = actor, timezone.now()
    # People need no notice of their own answer.
    escalation.answer_read_at = escalation.resolved_at if actor == escalation.raised_by else None
    escalation.save(update_fields=["outcome", "answer", "resolved_by", "resolved_at", "answer_read_at"])
    evaluation.is_escalated = False


def reopen_escalation(evaluation: Evaluation, key: int) -> None:
    """Reopen an escalation that an undone decision had ended."""
    ended = Escalation.objects.filter(pk=key)
    ended.update(outcome=Escalation.Outcome.OPEN, resolved_by=None, resolved_at=None, answer_read_at=None)
    evaluation.is_escalated = True
