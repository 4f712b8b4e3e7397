"""Hold back the messages of a restored backup: the site may have sent them since, or still runs elsewhere."""

from typing import NamedTuple

from django.db import transaction

from reviews.models import Notification, WebhookDelivery
from reviews.notifications import audit_walk

_REASON = "The backup that was restored had not sent it yet."


class HeldBack(NamedTuple):
    """Numbers of messages that were held back."""

    #: Messages to webhooks.
    messages: int
    #: Notifications by e-mail.
    notifications: int


@transaction.atomic
def hold_back_messages() -> HeldBack:
    """Mark all waiting messages and notifications as failed. Admins find them in the inbox.

    Those about the last events before the backup are created first.
    """
    while audit_walk.notify_of_next_events():
        pass
    messages = WebhookDelivery.objects.filter(state=WebhookDelivery.State.WAITING)
    notifications = Notification.objects.filter(state=Notification.State.WAITING)
    return HeldBack(
        messages.update(state=WebhookDelivery.State.GIVEN_UP, next_attempt_at=None),
        notifications.update(state=Notification.State.FAILED, error=_REASON),
    )
