"""Record backups for the system page and `status`, and hold back the messages of a restored backup."""

from typing import NamedTuple

from django.db import transaction

from cognireview.types import site
from reviews.audit import events
from reviews.models import Backup, Notification, WebhookDelivery
from reviews.notifications import audit_walk


@transaction.atomic
def record_backup(*, target: str, size: int) -> Backup:
    """Record that a backup was written to a path, or to standard output ("-")."""
    made = Backup.objects.create(target=target, size=size)
    events.record("backup", actor=None, target=target, size=size)
    return made


def last_backup() -> site.Backup | None:
    made = Backup.objects.order_by("-pk").first()
    return site.Backup(made.at, made.target, made.size) if made else None


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
