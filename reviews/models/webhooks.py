"""Webhooks that are called about events, and their deliveries."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Run


class QueueFilled(models.Model):
    """A transaction that added records to the queue of a run since the run was last found reviewed.

    A trigger writes one row per transaction (`run_counts.sql`), so that transactions never wait for each
    other.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    transaction = models.BigIntegerField(help_text="Transaction id of PostgreSQL.")

    class Meta:
        db_table = "queue_filled"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "transaction"], name="queue_filled_once"),
        ]


def every_run_reviewed() -> list[str]:
    """Return the events of a webhook for which nobody chose any."""
    return ["run.reviewed"]


class Webhook(models.Model):
    """A URL that is called about events of one run, or (None) of any run. Rows of removed webhooks stay."""

    url = models.CharField(max_length=2000)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+", db_index=False)
    events = ArrayField(
        models.TextField(),
        default=every_run_reviewed,
        help_text="Names of the events that it is called about: see `notifications.event_types`.",
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "webhook"


class WebhookSecret(models.Model):
    """One of the secrets of a webhook, which sign each message. Deleted with its webhook.

    Several of them let a receiver change from one to another.
    """

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="secrets")
    encrypted = models.TextField(help_text="See `accounts.encryption`.")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "webhook_secret"


class WebhookDelivery(models.Model):
    """One message for one webhook, with the same bytes in each attempt."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        GIVEN_UP = "given up"

    webhook = models.ForeignKey(Webhook, models.PROTECT, related_name="deliveries")
    message_id = models.CharField(max_length=40, unique=True, help_text="The `webhook-id`.")
    event = models.CharField(max_length=40)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+", db_index=False)
    body = models.TextField(help_text="The signed JSON.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(db_default=Now())
    next_attempt_at = models.DateTimeField(null=True)
    dismissed_at = models.DateTimeField(null=True, help_text="When its failure was dismissed from the inbox.")

    class Meta:
        db_table = "webhook_delivery"
        indexes: ClassVar = [
            models.Index(
                fields=["webhook"],
                condition=models.Q(state="given up", dismissed_at=None),
                name="webhook_delivery_failed",
            ),
        ]


class WebhookAttempt(models.Model):
    """The result of one delivery attempt. Only the status of the response is stored."""

    delivery = models.ForeignKey(WebhookDelivery, models.CASCADE, related_name="attempts", db_index=False)
    number = models.SmallIntegerField(help_text="From 1.")
    at = models.DateTimeField(db_default=Now())
    status = models.SmallIntegerField(null=True, help_text="HTTP status, if there was a response.")
    reason = models.CharField(max_length=300, help_text="Result in a short sentence.")

    class Meta:
        db_table = "webhook_attempt"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="webhook_attempt_number"),
        ]
