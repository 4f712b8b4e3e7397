"""What people decided, and where a file says otherwise."""

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Import, Run


class FileConflict(models.Model):
    """A decision in a file that differs from the one in force here. A lead settles which of them holds.

    A newer line of the same record replaces an open conflict, so there is one at most.
    """

    class Outcome(models.TextChoices):
        OPEN = "open"
        THEIRS = "theirs", "the file's decision holds"
        OURS = "ours", "the decision made here holds"
        REPLACED = "replaced", "a newer file says something else"

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="conflicts", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="conflicts", db_index=False)
    source = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    line = models.BigIntegerField(help_text="The line of the file, from 1.")
    content_hash = models.BinaryField(help_text="Of that line, as in the evaluation.")
    human = models.JSONField(help_text="The five human_* values of that line; the timestamp in ISO 8601.")
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    settled_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    settled_at = models.DateTimeField(null=True)

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

    def __str__(self) -> str:
        return f"{self.evaluation_id} and line {self.line} of import {self.source_id}"


class Review(models.Model):
    """One submitted human decision. Append-only: a later decision is a later version."""

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="reviews", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="reviews", db_index=False)
    version = models.IntegerField(help_text="From 1, within the evaluation.")
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="reviews", db_index=False)
    submitted_at = models.DateTimeField()
    corrected_scores = models.JSONField(
        null=True, help_text="Criterion -> {score, justification}: every criterion the human stands by."
    )
    comments = models.TextField(null=True)
    origins = models.JSONField(
        default=dict, help_text="Criterion -> where its score came from: judge, extracted, human or file."
    )
    submission = models.UUIDField(
        default=uuid.uuid4, help_text="Made by the form: the same submission sent twice is one review."
    )

    # What the decision was made on. (None for a review from before this was kept.)
    source_import = models.ForeignKey(Import, models.PROTECT, null=True, related_name="+", db_index=False)
    source_line = models.BigIntegerField(null=True)
    causes = models.JSONField(
        default=dict, help_text="Criterion -> why the judge was wrong there, a word of `Run.causes`."
    )
    extractor = models.IntegerField(
        null=True, help_text="`salvage.VERSION`, where scores were read out of raw output."
    )
    active_ms = models.IntegerField(
        null=True, help_text="Milliseconds the page was visible and in use, idle time capped."
    )
    keys = models.IntegerField(null=True, help_text="Key presses outside of text fields.")
    words = models.IntegerField(null=True, help_text="How many words of evidence were there to read.")
    judged = models.JSONField(
        null=True, help_text="Criterion -> the judge's score then, parsed or read out of raw output."
    )
    changes = models.IntegerField(
        null=True, help_text="Criteria that differ from what the judge said, or have a cause."
    )
    judged_verdict = models.CharField(max_length=10, null=True, help_text="The judge's, then.")
    verdict = models.CharField(
        max_length=10, null=True, help_text="What the scores came to by the rule of the run then."
    )
    stratum = models.ForeignKey(
        "Stratum",
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="The record's, then.",
    )
    families = ArrayField(
        models.TextField(), null=True, help_text="Of the record's reasons then: keys of `reasons.Family`."
    )
    is_sampled = models.BooleanField(db_default=False, help_text="As the evaluation's, then.")
    blind_scores = models.JSONField(
        null=True, help_text="Criterion -> score, as given before the judge's were shown; None if not blind."
    )
    blind_verdict = models.CharField(max_length=10, null=True, help_text="What those came to by the rule.")
    before = models.JSONField(
        null=True,
        help_text="What stood before it, for undo: the five human_* values, the review in force, is_stale.",
    )
    conflict = models.OneToOneField(
        FileConflict,
        models.PROTECT,
        null=True,
        related_name="review",
        help_text="Of a decision taken from a file: what was settled so, by the reviewer.",
    )

    class Meta:
        db_table = "review"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "version"], name="review_version_is_unique"),
            models.UniqueConstraint(fields=["submission"], name="review_submission_is_unique"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["reviewer", "id"], name="review_by_reviewer"),
            # What figures are drawn from, without the rows themselves, which hold texts.
            models.Index(
                fields=["reviewer", "id"],
                include=["run", "submitted_at", "active_ms", "words", "changes", "verdict", "judged_verdict"],
                name="review_figures",
                condition=models.Q(before__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} version {self.version}"


class Withdrawal(models.Model):
    """A review taken back by its reviewer: it stays in the record's history, and is in force no more."""

    review = models.OneToOneField(Review, models.PROTECT, related_name="withdrawal")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "withdrawal"

    def __str__(self) -> str:
        return f"{self.review} withdrawn"


class Draft(models.Model):
    """What a reviewer has entered for a record and not submitted."""

    evaluation = models.ForeignKey(Evaluation, models.CASCADE, related_name="drafts", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="drafts")
    fields = models.JSONField(help_text="[[name, value], ...] as the review form posts them.")
    revision = models.IntegerField(db_default=1, help_text="Grows with every save; an older one is refused.")
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "draft"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "reviewer"], name="draft_one_each"),
        ]

    def __str__(self) -> str:
        return f"draft of {self.evaluation_id}"


class Escalation(models.Model):
    """A record a reviewer hands to a lead. While it is open, nobody's queue holds the record."""

    class Kind(models.TextChoices):
        CANNOT_JUDGE = "cannot judge"
        QUESTION = "question", "flagged for a lead"
        DISAGREEMENT = "disagreement", "reviewers disagree"

    class Outcome(models.TextChoices):
        OPEN = "open"
        WITHDRAWN = "withdrawn", "taken back by the reviewer"
        RETURNED = "returned", "back to the queue"
        DECIDED = "decided", "a lead reviewed it"
        CLOSED = "closed", "nobody can judge it"
        UPHELD = "upheld", "the decision stands"

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="escalations", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="escalations", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind)
    reason = models.CharField(max_length=40, blank=True, help_text="A word of `escalation.REASONS`.")
    note = models.TextField(blank=True)
    raised_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome, db_default=Outcome.OPEN)
    answer = models.TextField(blank=True, db_default="")
    settled_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    settled_at = models.DateTimeField(null=True)

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
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.evaluation_id}"
