"""Saved views, and changes of many records at once."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Run


class SavedView(models.Model):
    """A list of a run under a name: its filters and order, as the query string of the page."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="saved_views", db_index=False)
    owner = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=100)
    query = models.TextField()
    is_shared = models.BooleanField(default=False, help_text="Whether everybody sees it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "saved_view"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "owner", "name"], name="saved_view_name_is_unique"),
        ]


class BulkChange(models.Model):
    """A change that a lead made to the records of a list, and can undo."""

    class Kind(models.TextChoices):
        ASSIGN = "assign"
        SPLIT = "split"
        PRIORITISE = "prioritise"
        DUE = "due"
        ESCALATE = "escalate"
        RELEASE = "release"

    run = models.ForeignKey(Run, models.PROTECT, related_name="bulk_changes")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    query = models.TextField(help_text="The list, as the query string of its page.")
    is_selection = models.BooleanField(
        db_default=False, help_text="Whether it changed selected records only, not all of the list."
    )
    assigned_to = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    priority = models.SmallIntegerField(null=True)
    due_on = models.DateField(null=True)
    evaluations = models.BigIntegerField(default=0, help_text="Number of records changed.")
    at = models.DateTimeField(db_default=Now())
    undone_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "bulk_change"


class BulkChangeItem(models.Model):
    """The state of one record before a bulk change."""

    change = models.ForeignKey(BulkChange, models.CASCADE, related_name="items", db_index=False)
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="+", db_index=False)
    assigned_to = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    priority = models.SmallIntegerField()
    due_on = models.DateField(null=True)
    claimed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    given_to = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="The person to whom a split assigned the record.",
    )

    class Meta:
        db_table = "bulk_change_item"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["change", "evaluation"], name="bulk_change_item_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["evaluation"], name="bulk_change_item_evaluation")]
