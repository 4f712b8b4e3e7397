"""What people decided, and the audit events."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Import, Run


class Review(models.Model):
    """One submitted human decision. Append-only: a later decision is a later version."""

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="reviews", db_index=False)
    version = models.IntegerField(help_text="From 1, within the evaluation.")
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="reviews")
    submitted_at = models.DateTimeField()
    corrected_scores = models.JSONField(
        null=True, help_text="Criterion -> {score, justification}: every criterion the human stands by."
    )
    comments = models.TextField(null=True)
    origins = models.JSONField(
        default=dict, help_text="Criterion -> where its score came from: judge, extracted or human."
    )
    submission = models.UUIDField(
        default=uuid.uuid4, help_text="Made by the form: the same submission sent twice is one review."
    )

    class Meta:
        db_table = "review"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "version"], name="review_version_is_unique"),
            models.UniqueConstraint(fields=["submission"], name="review_submission_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} version {self.version}"


class AuditEvent(models.Model):
    """What happened, who did it, when, to what. The table takes INSERT and nothing else."""

    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150, default="", blank=True)
    action = models.CharField(max_length=40)
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="+")
    source = models.ForeignKey(Import, models.PROTECT, null=True, related_name="+", db_index=False)
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, null=True, related_name="events")
    detail = models.JSONField(default=dict)

    class Meta:
        db_table = "audit_event"
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action}"
