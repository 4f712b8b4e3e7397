"""Toasts that offer to undo an action."""

from django.contrib import messages

from reviews.http.request import Request
from reviews.models import AuditEvent, Evaluation
from reviews.review import undo
from reviews.templatetags.toasts import undo_tag


def offer_undo(
    request: Request, record: Evaluation, sentence: str, *, event: AuditEvent | None = None
) -> None:
    """Show a toast about the person's last action on a record, with a button that undoes it.

    One query without the `event` of the action.
    """
    if event is None:
        action = undo.last_action(run=record.run, actor=request.user, evaluation=record)
        event = action.event if action else None
    messages.success(request, sentence, extra_tags=undo_tag(record.run_id, event.pk) if event else "")
