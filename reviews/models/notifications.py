"""Notifications to people by e-mail."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Run


class Notification(models.Model):
    """A sentence for one person about an event. A job mails all that are due to a person together."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"

    person = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    event = models.CharField(max_length=40, help_text="A key of `notifications.event_types.EVENTS`.")
    run = models.ForeignKey(
        Run, models.PROTECT, null=True, related_name="+", help_text="Null for an import without a run."
    )
    text = models.TextField(help_text="The sentence.")
    path = models.TextField(help_text="The path of the page it is about.")
    created_at = models.DateTimeField(db_default=Now())
    state = models.CharField(max_length=10, choices=State, db_default=State.WAITING)
    due_at = models.DateTimeField(help_text="When to send it, or to attempt it again.")
    attempts = models.SmallIntegerField(db_default=0, help_text="Failed attempts to send it.")
    error = models.TextField(blank=True, db_default="", help_text="Why the last attempt failed.")

    class Meta:
        db_table = "notification"
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=models.Q(state="waiting"), name="notification_waiting"),
            models.Index(
                fields=["person", "id"], condition=models.Q(state="failed"), name="notification_failed"
            ),
        ]


class NotifiedEvents(models.Model):
    """The position in the audit log up to which people and webhooks were notified. One row."""

    position = models.BigIntegerField(db_default=0, help_text="`AuditSeal.position` of the last event.")

    class Meta:
        db_table = "notified_events"
