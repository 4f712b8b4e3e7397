"""Webhooks: who is told when a run is reviewed, and what became of telling them."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Run


class QueueFilled(models.Model):
    """A transaction in which records came into the queue of a run, since that was last found reviewed.

    A trigger writes it, a row of its own for each transaction: nobody waits for anybody.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    transaction = models.BigIntegerField(help_text="Its id in PostgreSQL.")

    class Meta:
        db_table = "queue_filled"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "transaction"], name="queue_filled_once"),
        ]


class Webhook(models.Model):
    """An address that is told when a run is reviewed: one run, or each. One that was removed stays."""

    url = models.CharField(max_length=2000)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+", db_index=False)
    secret = models.TextField(help_text="Encrypted: see `ciphers`.")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "webhook"

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class WebhookDelivery(models.Model):
    """One message for one webhook: the same bytes at each attempt."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        GIVEN_UP = "given up"

    webhook = models.ForeignKey(Webhook, models.PROTECT, related_name="deliveries")
    message_id = models.CharField(max_length=40, unique=True, help_text="The `webhook-id`.")
    event = models.CharField(max_length=40)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+", db_index=False)
    body = models.TextField(help_text="JSON, as it is signed and sent.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(db_default=Now())
    next_attempt_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "webhook_delivery"

    def __str__(self) -> str:
        return self.message_id


class WebhookAttempt(models.Model):
    """What came of one attempt. Of an answer only the status is kept."""

    delivery = models.ForeignKey(WebhookDelivery, models.CASCADE, related_name="attempts", db_index=False)
    number = models.SmallIntegerField(help_text="From 1.")
    at = models.DateTimeField(db_default=Now())
    status = models.SmallIntegerField(null=True, help_text="Of the answer, if there was one.")
    reason = models.CharField(max_length=300, help_text="In our words.")

    class Meta:
        db_table = "webhook_attempt"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="webhook_attempt_number"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.reason}"
