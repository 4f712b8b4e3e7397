"""Audit events, the chain of seals that reveals changed events, and the results of its verification."""

from typing import ClassVar

from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models.fields.json import KT
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
    address = models.GenericIPAddressField(
        null=True, help_text="The client whose request caused the event. None for commands and jobs."
    )
    run = models.ForeignKey(
        Run, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
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
            # The lists of the audit log: newest first, and each filter in that order.
            models.Index(fields=["at", "id"], name="audit_event_by_time"),
            # Columns after the key are for filters of several actions, and for pairs with an address: they
            # exclude events without reading them.
            models.Index(fields=["actor", "at", "id", "action"], name="audit_event_by_actor"),
            models.Index(fields=["action", "at", "id"], name="audit_event_by_action"),
            models.Index(fields=["run", "at", "id"], name="audit_event_by_run"),
            # Two filters that are frequent apart, but rare together.
            models.Index(fields=["actor", "action", "at", "id"], name="audit_event_by_actor_action"),
            models.Index(fields=["run", "action", "at", "id"], name="audit_event_by_run_action"),
            models.Index(fields=["run", "actor", "at", "id"], name="audit_event_by_run_actor"),
            models.Index(
                fields=["address", "at", "id", "action", "actor", "run"],
                name="audit_event_by_address",
                condition=models.Q(address__isnull=False),
            ),
            models.Index(
                KT("detail__username"),
                "at",
                "id",
                name="audit_event_about_person",
                condition=models.Q(detail__has_key="username"),
            ),
            models.Index(
                KT("detail__username"),
                "action",
                "at",
                "id",
                name="audit_event_about_action",
                condition=models.Q(detail__has_key="username"),
            ),
            HashIndex(fields=["record"], name="audit_event_of_record", condition=~models.Q(record="")),
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


class ChainCheck(models.Model):
    """A verification of the audit log, and its result. A job writes it."""

    requested_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    events = models.BigIntegerField(default=0, help_text="Number of verified events.")
    head = models.TextField(default="", blank=True, help_text="The verified head of the chain.")
    differences = models.BigIntegerField(default=0)
    problems = models.JSONField(default=list, help_text="The first differences, as sentences.")
    error = models.TextField(default="", blank=True, help_text="Why the verification did not finish.")

    class Meta:
        db_table = "chain_check"
