"""What figures about reviews are drawn from beside the reviews themselves."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.decisions import Review
from reviews.models.people import User
from reviews.models.runs import Run


class CriterionDay(models.Model):
    """How often a reviewer's score of a criterion differed from the judge's, on one day in one run.

    Triggers write it with the review or the withdrawal it counts, both of which are append-only: a row
    is always the sum over the reviews of that day that are not taken back.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+")
    day = models.DateField(help_text="In UTC.")
    criterion = models.TextField()
    judged = models.BigIntegerField(help_text="How many of the reviews had a score by the judge.")
    overridden = models.BigIntegerField(help_text="In how many of those the human's differs or is missing.")

    class Meta:
        db_table = "criterion_day"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "reviewer", "day", "criterion"], name="criterion_day_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.criterion}, {self.day}"


class Overturning(models.Model):
    """A decision that somebody else changed the scores of, or put back into the queue. Append-only."""

    class Kind(models.TextChoices):
        REVISED = "revised", "decided otherwise"
        REOPENED = "reopened", "put back into the queue"
        FILE = "file", "settled for what a file says"

    review = models.ForeignKey(Review, models.PROTECT, related_name="overturnings")
    by = models.ForeignKey(
        Review,
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="The decision that took its place, if one did: taken back, it overturns nothing.",
    )
    kind = models.CharField(max_length=10, choices=Kind)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "overturning"

    def __str__(self) -> str:
        return f"{self.review} {self.kind}"


class SpotCheck(models.Model):
    """A decision drawn at random for a lead to look at again. It is drawn once at most."""

    class Outcome(models.TextChoices):
        OPEN = "open"
        AGREED = "agreed"
        REOPENED = "reopened"

    review = models.OneToOneField(Review, models.PROTECT, related_name="spot_check")
    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="+", help_text="Whose decision it is.")
    drawn_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    drawn_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    note = models.TextField(blank=True, db_default="")
    settled_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "spot_check"
        indexes: ClassVar = [
            models.Index(
                fields=["drawn_by", "id"], name="spot_check_open", condition=models.Q(outcome="open")
            )
        ]

    def __str__(self) -> str:
        return f"spot check of {self.review}"
