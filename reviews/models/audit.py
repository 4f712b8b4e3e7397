"""Audit events, and the chain of seals that reveals altered, removed and inserted events."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Import, Run


class AuditEvent(models.Model):
    """An action: who did it, when, and on which run and record. Append-only.

    Names are stored next to the keys, so that an exported event is readable without the database. Every
    column is part of the sealed text, `audit.log.EVENT_TEXT`. The keys of a deleted run, its imports and its
    evaluations stay: they have no foreign key constraint.
    """

    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    actor_name = models.CharField(max_length=150, default="", blank=True)
    action = models.CharField(max_length=40)
    run = models.ForeignKey(Run, models.DO_NOTHING, null=True, related_name="+", db_constraint=False)
    run_name = models.TextField(default="", blank=True)
    source = models.ForeignKey(
        Import, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    evaluation = models.ForeignKey(
        Evaluation, models.DO_NOTHING, null=True, related_name="events", db_constraint=False
    )
    record = models.TextField(default="", blank=True, help_text="The evaluation_id of the evaluation.")
    detail = models.JSONField(default=dict)

    class Meta:
        db_table = "audit_event"
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["actor", "run", "id"], name="audit_event_of_person"),
            models.Index(
                fields=["at"], name="audit_event_put_off", condition=models.Q(action__in=("skip", "release"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action}"


class AuditSeal(models.Model):
    """The position of an event in the hash chain, in commit order. Only a trigger writes it.

    `hash` is SHA-256 over `previous` and the SHA-256 of the event's text. `previous` is the hash of the
    previous seal, or 32 zero bytes for the first.
    """

    position = models.BigIntegerField(primary_key=True, help_text="From 1, without gaps.")
    # No foreign key constraint: it would lock each event's row again, and a missing event must be reported.
    event = models.OneToOneField(AuditEvent, models.PROTECT, related_name="seal", db_constraint=False)
    previous = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        db_table = "audit_seal"
