"""The inbox of leads."""

from django.urls import reverse

from reviews.models import Escalation, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory


def asked(run: Run, reviewer: User, note: str = "Is 54 right?") -> Escalation:
    """Escalate a record with a question."""
    record = EvaluationFactory.create(run=run)
    claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=reviewer, kind="question", reason="question", note=note
    )


def inbox(run: Run, **query: str) -> str:
    return reverse("inbox", query={"run": run.pk, **query})
