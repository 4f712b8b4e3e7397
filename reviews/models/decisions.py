"""Decisions, drafts, escalations, and conflicts between decisions and files."""

import uuid
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from reviews.models.audit import AuditEvent
from reviews.models.evaluations import Evaluation
from reviews.models.loading import QuicklyLoaded
from reviews.models.people import User
from reviews.models.runs import Import, Run


class FileConflict(models.Model):
    """A decision in a file that differs from the current decision. A lead decides which of them is kept.

    A newer line of the same record replaces an open conflict, so each record has at most one.
    """

    class Outcome(models.TextChoices):
        OPEN = "open"
        THEIRS = "theirs", "the file's decision was taken"
        OURS = "ours", "the decision made here was kept"
        REPLACED = "replaced", "replaced by a newer file"

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="conflicts", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="conflicts", db_index=False)
    source = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    line = models.BigIntegerField(help_text="Line of the file, from 1.")
    content_hash = models.BinaryField(help_text="Of that line, as in the evaluation.")
    human = models.JSONField(help_text="The five human_* values of that line; the timestamp in ISO 8601.")
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    resolved_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "file_conflict"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["evaluation"], condition=models.Q(outcome="open"), name="file_conflict_one_open"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["evaluation"], name="file_conflict_evaluation"),
            models.Index(fields=["run", "id"], condition=models.Q(outcome="open"), name="file_conflict_open"),
        ]


class ReviewQuerySet(models.QuerySet["Review"]):
    """Reviews by their origin."""

    def by_reviewers(self) -> Self:
        """Decisions that people submitted here, without those taken from a file."""
        return self.filter(origin=Review.Origin.REVIEWER)


class Review(QuicklyLoaded):
    """One submitted human decision. Append-only: a later decision is a later version."""

    class Origin(models.TextChoices):
        REVIEWER = "reviewer", "submitted by a reviewer"
        FILE = "file", "taken from a file"

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="reviews", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="reviews", db_index=False)
    version = models.IntegerField(help_text="From 1, within the evaluation.")
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="reviews", db_index=False)
    submitted_at = models.DateTimeField()
    corrected_scores = models.JSONField(
        null=True, help_text="Criterion -> {score, justification}, for every criterion that is not excluded."
    )
    comments = models.TextField(null=True)
    origins = models.JSONField(
        default=dict, help_text="Criterion -> origin of its score: judge, extracted, human or file."
    )
    submission = models.UUIDField(default=uuid.uuid4, help_text="Idempotency key from the form or the API.")

    # The evidence that the decision is based on.
    source_import = models.ForeignKey(Import, models.PROTECT, null=True, related_name="+", db_index=False)
    source_line = models.BigIntegerField(null=True)
    guideline_version = models.IntegerField(null=True, help_text="The version of the guideline at the time.")
    causes = models.JSONField(default=dict, help_text="Criterion -> cause, a word of the rubric's causes.")
    extractor = models.IntegerField(
        null=True, help_text="`score_extraction.VERSION`, if scores were extracted from raw output."
    )
    active_ms = models.IntegerField(
        null=True, help_text="Milliseconds for which the page was visible and in use, with idle time capped."
    )
    keys = models.IntegerField(null=True, help_text="Key presses outside text fields.")
    words = models.IntegerField(null=True, help_text="Words of evidence on the page.")
    judged = models.JSONField(
        null=True, help_text="Criterion -> the judge's score at the time, parsed or extracted."
    )
    overridden = ArrayField(
        models.TextField(),
        null=True,
        help_text="Criteria of `judged` that the decision excludes, or gives a score that is not alike: see "
        "`scores.is_alike`.",
    )
    changes = models.IntegerField(
        null=True, help_text="Criteria whose score differs from the judge's, or that have a cause."
    )
    judged_verdict = models.CharField(max_length=10, null=True, help_text="The judge's verdict at the time.")
    verdict = models.CharField(
        max_length=10, null=True, help_text="The verdict of the scores by the rule of the run at the time."
    )
    stratum = models.ForeignKey(
        "Stratum",
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="The record's stratum at the time.",
    )
    families = ArrayField(
        models.TextField(),
        null=True,
        help_text="The record's flag reasons at the time: keys of `reason_families.ReasonFamily`.",
    )
    is_sampled = models.BooleanField(db_default=False, help_text="`Evaluation.is_sampled` at the time.")
    blind_scores = models.JSONField(
        null=True,
        help_text="Criterion -> score given before the judge's scores were shown; None without blind review.",
    )
    blind_verdict = models.CharField(max_length=10, null=True, help_text="The verdict of the blind scores.")
    origin = models.CharField(max_length=10, choices=Origin, db_default=Origin.REVIEWER)
    before = models.JSONField(
        null=True,
        help_text="State before it, for undo: the five human_* values, the current decision, is_outdated.",
    )
    conflict = models.OneToOneField(
        FileConflict,
        models.PROTECT,
        null=True,
        related_name="review",
        help_text="The conflict that the reviewer resolved by taking this decision of a file.",
    )

    #: The audit event of the decision, in the request that made it.
    event: AuditEvent | None = None

    objects = ReviewQuerySet.as_manager()

    class Meta:
        db_table = "review"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "version"], name="review_version_is_unique"),
            models.UniqueConstraint(fields=["submission"], name="review_submission_is_unique"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["reviewer", "id"], name="review_by_reviewer"),
            # Figures read this index only, not the rows with their long texts.
            models.Index(
                fields=["reviewer", "id"],
                include=["run", "submitted_at", "active_ms", "words", "changes", "verdict", "judged_verdict"],
                name="review_figures",
                condition=models.Q(origin="reviewer"),
            ),
            models.Index(
                fields=["reviewer", "id"],
                name="review_blind",
                condition=models.Q(origin="reviewer", blind_scores__isnull=False),
            ),
            models.Index(
                fields=["run", "evaluation"],
                name="review_unrated",
                condition=models.Q(judged__isnull=True) | models.Q(stratum=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} version {self.version}"

    @property
    def is_from_file(self) -> bool:
        return self.origin == self.Origin.FILE


class Withdrawal(models.Model):
    """The undo of a review by its reviewer. The review stays in the history of the record."""

    review = models.OneToOneField(Review, models.PROTECT, related_name="withdrawal")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "withdrawal"


class Draft(models.Model):
    """Entries of a reviewer that are not submitted yet."""

    evaluation = models.ForeignKey(Evaluation, models.CASCADE, related_name="drafts", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="drafts")
    fields = models.JSONField(help_text="[[name, value], ...], as the review form posts them.")
    revision = models.IntegerField(
        db_default=1, help_text="Grows with every save. A save with an older revision is refused."
    )
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "draft"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "reviewer"], name="draft_one_each"),
        ]


class Escalation(models.Model):
    """A record sent to a lead. While the escalation is open, the record is in no queue."""

    class Kind(models.TextChoices):
        CANNOT_JUDGE = "cannot judge", "can't judge"
        QUESTION = "question", "question"
        DISAGREEMENT = "disagreement", "reviewers disagree"

    class Outcome(models.TextChoices):
        OPEN = "open"
        WITHDRAWN = "withdrawn", "withdrawn by the reviewer"
        RETURNED = "returned", "back to the queue"
        DECIDED = "decided", "a lead reviewed it"
        CLOSED = "closed", "nobody can judge it"
        UPHELD = "upheld", "decision upheld"

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="escalations", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="escalations", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind)
    reason = models.CharField(max_length=40, blank=True, help_text="A key of `escalations.REASONS`.")
    note = models.TextField(blank=True)
    raised_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    answer = models.TextField(blank=True, db_default="")
    resolved_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    resolved_at = models.DateTimeField(null=True)
    answer_read_at = models.DateTimeField(
        null=True, help_text="When the person who raised it read the answer."
    )

    class Meta:
        db_table = "escalation"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["evaluation"], condition=models.Q(outcome="open"), name="escalation_one_open"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["evaluation"], name="escalation_evaluation"),
            models.Index(fields=["run", "id"], condition=models.Q(outcome="open"), name="escalation_open"),
            models.Index(
                fields=["raised_by", "id"],
                condition=models.Q(
                    answer_read_at=None, outcome__in=("returned", "decided", "closed", "upheld")
                ),
                name="escalation_unread",
            ),
        ]
