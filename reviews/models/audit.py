"""The audit events, and the chain of seals that shows whether one was altered, removed or slipped in."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Import, Run


class AuditEvent(models.Model):
    """What happened, who did it, when, to what. The table takes INSERT and nothing else.

    Names stand beside the keys: they tell what people, runs and records were called then, and an event that
    left the database tells it too. Every column is part of `audit.log.EVENT_TEXT`, which is what is sealed.
    """

    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150, default="", blank=True)
    action = models.CharField(max_length=40)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+")
    run_name = models.TextField(default="", blank=True)
    source = models.ForeignKey(Import, models.PROTECT, null=True, related_name="+", db_index=False)
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, null=True, related_name="events")
    record = models.TextField(default="", blank=True, help_text="The evaluation_id of the evaluation.")
    detail = models.JSONField(default=dict)

    class Meta:
        db_table = "audit_event"
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(
                fields=["at"], name="audit_event_put_off", condition=models.Q(action__in=("skip", "release"))
            )
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action}"


class AuditSeal(models.Model):
    """The place of an event in the chain, in the order of commits. Written by a trigger alone.

    `hash` is SHA-256 over `previous` and the SHA-256 of the event's text; `previous` is the hash of the seal
    before, and 32 zero bytes in the first.
    """

    position = models.BigIntegerField(primary_key=True, help_text="From 1, without gaps.")
    # No constraint: it would lock each event's row a second time, and that an event is gone must be told.
    event = models.OneToOneField(AuditEvent, models.PROTECT, related_name="seal", db_constraint=False)
    previous = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        db_table = "audit_seal"

    def __str__(self) -> str:
        return f"{self.position}:{bytes(self.hash).hex()}"
