"""Tables of the dashboard: daily counts, overturned decisions, spot checks and known answers."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.decisions import Review
from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Run


class CriterionDay(models.Model):
    """Overrides of one criterion by one reviewer, on one day in one run.

    Triggers write it with each review and each undo (`override_counts.sql`). Both are append-only, so a row
    is always the sum over the reviews of the day that are not undone.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+")
    day = models.DateField(help_text="In UTC.")
    criterion = models.TextField()
    judged = models.BigIntegerField(help_text="Reviews in which the judge had given a score.")
    overridden = models.BigIntegerField(
        help_text="Reviews among them whose human score differs or is missing."
    )

    class Meta:
        db_table = "criterion_day"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "reviewer", "day", "criterion"], name="criterion_day_is_unique"
            ),
        ]


class ReviewerDay(models.Model):
    """Decisions of one reviewer, on one day in one run. Triggers write it (`work_days.sql`).

    Like `CriterionDay`, a row is the sum over the reviews of the day that are not undone.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(help_text="In UTC.")
    decisions = models.BigIntegerField(help_text="Revisions and independent reviews included.")
    changed = models.BigIntegerField(help_text="Decisions among them with `Review.changes` above 0.")

    class Meta:
        db_table = "reviewer_day"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["day", "run", "reviewer"], name="reviewer_day_is_unique"),
        ]


class RecordDay(models.Model):
    """Records of a run by the reviewer and the day of their current decision.

    Triggers write it (`work_days.sql`). A record counts once. Decisions of files are not counted.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(help_text="In UTC.")
    records = models.BigIntegerField()

    class Meta:
        db_table = "record_day"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["day", "run", "reviewer"], name="record_day_is_unique"),
        ]


class Overturn(models.Model):
    """A decision that another person revised or reopened. Append-only."""

    class Kind(models.TextChoices):
        REVISED = "revised", "revised"
        REOPENED = "reopened", "reopened"
        FILE = "file", "replaced by the decision of a file"

    review = models.ForeignKey(Review, models.PROTECT, related_name="overturns")
    by = models.ForeignKey(
        Review,
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="The decision that replaced it, if any. If that one is undone, nothing is overturned.",
    )
    kind = models.CharField(max_length=10, choices=Kind)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "overturn"


class SpotCheck(models.Model):
    """A decision for a lead to check, drawn at random or selected. Each decision is checked at most once."""

    class Outcome(models.TextChoices):
        OPEN = "open"
        AGREED = "agreed"
        CORRECTED = "corrected"
        REOPENED = "reopened"

    review = models.OneToOneField(Review, models.PROTECT, related_name="spot_check")
    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    reviewer = models.ForeignKey(
        User, models.PROTECT, related_name="+", help_text="The reviewer who made the decision."
    )
    drawn_by = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="The lead who drew it, and checks it. None for the standing sample of the run.",
    )
    is_selected = models.BooleanField(
        db_default=False, help_text="Whether a lead selected it. No share of agreement counts it."
    )
    drawn_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    note = models.TextField(blank=True, db_default="")
    resolved_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    resolved_at = models.DateTimeField(null=True)
    correction = models.OneToOneField(
        Review,
        models.PROTECT,
        null=True,
        related_name="corrects",
        help_text="The version with the lead's scores, if the lead corrected the decision.",
    )

    class Meta:
        db_table = "spot_check"
        indexes: ClassVar = [
            models.Index(
                fields=["drawn_by", "id"], name="spot_check_open", condition=models.Q(outcome="open")
            )
        ]


class KnownAnswerCheck(models.Model):
    """A check of the reviewers of a run against a lead's own independent reviews."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    started_by = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, help_text="The lead whose reviews it uses."
    )
    started_at = models.DateTimeField(db_default=Now())
    ended_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    ended_at = models.DateTimeField(null=True, help_text="None while it is running.")

    class Meta:
        db_table = "known_answer_check"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run"], condition=models.Q(ended_at=None), name="known_answer_check_one_running"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["run", "id"], name="known_answer_check_of_run")]


class KnownAnswer(models.Model):
    """A record of a check. The known answer is the independent review of the lead who started the check."""

    known_answer_check = models.ForeignKey(
        KnownAnswerCheck, models.CASCADE, related_name="answers", db_index=False
    )
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="known_answers", db_index=False)

    class Meta:
        db_table = "known_answer"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["known_answer_check", "evaluation"], name="known_answer_is_unique"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["evaluation"], name="known_answer_evaluation")]
