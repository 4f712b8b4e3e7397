"""The tables: people, runs and their kept files, evaluations, reviews, and the audit events.

Models hold columns, constraints and what can be read off one row. Whoever changes rows is
`importer` (what files bring), `queue` (who holds what) or `workflow` (what people decide).
"""

import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Length, Now

from reviews.record import DONE_WORDS, QUEUE_WORDS

RUN_NAME_LENGTH = 200


class User(AbstractUser):
    """A person. What they may do comes from their role, a Django group (see `permissions`)."""

    class Meta:
        db_table = "person"

    @property
    def name(self) -> str:
        return self.get_full_name() or self.username


class Run(models.Model):
    """One evaluation output under review: what an admin imports and exports, by name."""

    name = models.CharField(max_length=RUN_NAME_LENGTH)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "run"
        constraints: ClassVar = [models.UniqueConstraint(fields=["name"], name="run_name_is_unique")]
        permissions: ClassVar = [
            ("import_file", "Can import files"),
            ("export_run", "Can export runs"),
            ("review_evaluation", "Can review evaluations"),
            ("read_audit", "Can read the audit events"),
            ("lead_review", "Can free what others hold"),
        ]

    def __str__(self) -> str:
        return self.name


class Import(models.Model):
    """One file brought into a run, and what became of each of its lines.

    `new + unchanged + updated + conflicts + rejected + blank = lines` once it is done.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OUTCOMES = ("new", "unchanged", "updated", "conflicts", "rejected", "blank")

    run = models.ForeignKey(Run, models.PROTECT, related_name="imports")
    file_name = models.CharField(max_length=255)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    strict = models.BooleanField(default=False)
    error = models.TextField(default="", blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    size = models.BigIntegerField(default=0, help_text="Bytes of the file as it came.")
    sha256 = models.CharField(max_length=64, default="", blank=True)
    has_bom = models.BooleanField(default=False)
    repeated_lines = models.BigIntegerField(
        default=0, help_text="Lines at its start that repeat the run's import before it, byte for byte."
    )
    lines = models.BigIntegerField(default=0)
    new = models.BigIntegerField(default=0)
    unchanged = models.BigIntegerField(default=0)
    updated = models.BigIntegerField(default=0)
    conflicts = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    blank = models.BigIntegerField(default=0)

    class Meta:
        db_table = "import"

    def __str__(self) -> str:
        return f"{self.file_name} into {self.run}"

    @property
    def counts(self) -> dict[str, int]:
        """Lines and what became of them, by outcome."""
        return {name: getattr(self, name) for name in ("lines", *self.OUTCOMES)}

    def listed_exceptions(self) -> Iterator[dict[str, Any]]:
        """Every line that is not a new record or blank: line, outcome, field, reason; in order."""
        for row in self.exceptions.order_by("line").values("line", "outcome", "field", "reason").iterator():
            yield dict(row)


class SourceChunk(models.Model):
    """About 1 MiB of a kept file: whole lines, one zstd frame."""

    source = models.ForeignKey(Import, models.PROTECT, related_name="chunks", db_index=False)
    number = models.IntegerField(help_text="From 0, in file order.")
    first_line = models.BigIntegerField(help_text="From 1.")
    lines = models.IntegerField()
    size = models.IntegerField(help_text="Bytes before compression.")
    frame = models.BinaryField()

    class Meta:
        db_table = "source_chunk"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "number"], name="source_chunk_place"),
        ]
        indexes: ClassVar = [models.Index(fields=["source", "first_line"], name="source_chunk_line")]


class Evaluation(models.Model):
    """One record: its 23 fields by their own names, and where in which file it stands.

    The mirror is for work and queries; the truth of a line is the kept file. Text holds U+FFFD
    where the file has U+0000, and JSON holds as text any number that 64 bits cannot.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, models.PROTECT, related_name="evaluations", db_index=False)
    # Where the record first appeared (its place in an export) and the line that holds it now.
    first_import = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    first_line = models.BigIntegerField()
    source_import = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    source_line = models.BigIntegerField()
    content_hash = models.BinaryField(help_text="BLAKE2b, 16 bytes, of the line without its line end.")

    evaluation_id = models.TextField()
    task_id = models.TextField(null=True)
    model_id = models.TextField(null=True)
    response_id = models.TextField(null=True)
    ideal_response_id = models.TextField(null=True)
    judge_llm_model = models.TextField()
    judge_prompt_template_path = models.TextField()
    raw_judge_output = models.JSONField()
    parsed_rubric_scores = models.JSONField()
    aggregated_score = models.TextField(null=True)
    final_answer_verified = models.BooleanField(null=True)
    verification_message = models.TextField(null=True)
    needs_human_review = models.BooleanField()
    review_reasons = models.JSONField()
    structured_model_response = models.JSONField(null=True)
    structured_ideal_response = models.JSONField(null=True)
    parsing_error = models.TextField(null=True)
    human_review_status = models.TextField()
    human_reviewer_id = models.TextField(null=True)
    human_review_timestamp = models.DateTimeField(null=True)
    human_corrected_scores = models.JSONField(null=True)
    human_review_comments = models.TextField(null=True)
    created_at = models.DateTimeField()
    extra = models.JSONField(default=dict)

    # Who holds the record, until when; on the row itself, so that one locked row decides.
    claimed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="claims", db_index=False)
    claimed_until = models.DateTimeField(null=True)
    version = models.IntegerField(db_default=1, help_text="Grows with every change to the record.")
    review = models.ForeignKey(
        "Review", models.PROTECT, null=True, related_name="+", help_text="The human decision in force."
    )

    class Meta:
        db_table = "evaluation"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation_id"], name="evaluation_id_is_unique"),
            models.UniqueConstraint(
                fields=["run", "first_import", "first_line"], name="evaluation_place_is_unique"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                "run",
                Length("task_id"),
                "task_id",
                "model_id",
                "id",
                name="evaluation_queue_order",
                condition=models.Q(human_review_status__in=QUEUE_WORDS),
            ),
            models.Index(
                "claimed_by",
                "claimed_until",
                name="evaluation_claims",
                condition=models.Q(claimed_by__isnull=False),
            ),
            models.Index("run", "human_review_status", name="evaluation_progress"),
            models.Index(
                "first_import",
                "first_line",
                name="evaluation_decided_or_moved",
                condition=models.Q(review__isnull=False) | ~models.Q(source_import=models.F("first_import")),
            ),
        ]

    def __str__(self) -> str:
        return self.evaluation_id

    @property
    def in_queue(self) -> bool:
        return self.human_review_status in QUEUE_WORDS

    @property
    def is_done(self) -> bool:
        return self.human_review_status in DONE_WORDS


class ImportLine(models.Model):
    """A line that did not become a new record: what became of it, and why."""

    class Outcome(models.TextChoices):
        UNCHANGED = "unchanged"
        UPDATED = "updated"
        CONFLICT = "conflict"
        REJECTED = "rejected"

    source = models.ForeignKey(Import, models.PROTECT, related_name="exceptions", db_index=False)
    line = models.BigIntegerField(help_text="From 1, split on LF.")
    outcome = models.CharField(max_length=10, choices=Outcome)
    field = models.CharField(max_length=100, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    evaluation = models.ForeignKey(
        Evaluation, models.PROTECT, null=True, related_name="import_lines", db_index=False
    )

    class Meta:
        db_table = "import_line"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "line"], name="import_line_place"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["evaluation", "source"],
                name="import_line_evaluation",
                condition=models.Q(evaluation__isnull=False),
            )
        ]


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


class Skip(models.Model):
    """A record a reviewer put off: it comes back to them last, and to everybody else as before."""

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="skips", db_index=False)
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="skips", db_index=False)
    skipped_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "skip"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["reviewer", "evaluation"], name="skip_once"),
        ]


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
