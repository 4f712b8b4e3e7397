"""Exports that a job builds, and their files until they are removed."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Import, Run


class Export(models.Model):
    """A requested export, and its file."""

    class State(models.TextChoices):
        UNFINISHED = "unfinished"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    run = models.ForeignKey(Run, models.PROTECT, related_name="exports")
    only = models.CharField(max_length=10)
    with_rejected = models.BooleanField()
    only_import = models.ForeignKey(Import, models.PROTECT, null=True, related_name="+", db_index=False)
    format = models.CharField(max_length=10)
    compression = models.CharField(max_length=10, blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    state = models.CharField(max_length=10, choices=State, default=State.UNFINISHED)
    error = models.TextField(default="", blank=True)
    finished_at = models.DateTimeField(null=True)
    dismissed_at = models.DateTimeField(null=True, help_text="When its failure was dismissed from the inbox.")

    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, default="", blank=True)
    lines = models.BigIntegerField(default=0)
    lines_changed = models.BigIntegerField(default=0)
    lines_left_out = models.BigIntegerField(default=0)

    class Meta:
        db_table = "export"
        indexes: ClassVar = [
            # The inbox's failed exports.
            models.Index(
                fields=["id"], name="export_failed", condition=models.Q(state="failed", dismissed_at=None)
            ),
        ]


class ExportProgress(models.Model):
    """Progress of an export job, in a row of its own: a second connection writes it during the job."""

    export = models.OneToOneField(Export, models.CASCADE, primary_key=True, related_name="progress")
    bytes_read = models.BigIntegerField(default=0)
    bytes_to_read = models.BigIntegerField(help_text="Bytes of the source files.")
    cancelled_by = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="Who has asked the running job to stop.",
    )

    class Meta:
        db_table = "export_progress"


class ExportPart(models.Model):
    """A part of an export's file or receipt, as one zstd frame.

    Stored in the database, so that every web server can send it.
    """

    class Kind(models.TextChoices):
        FILE = "file"
        RECEIPT = "receipt"

    export = models.ForeignKey(Export, models.CASCADE, related_name="parts", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    number = models.IntegerField(help_text="From 0.")
    start = models.BigIntegerField(help_text="The byte of the file or receipt that it begins with, from 0.")
    size = models.IntegerField(help_text="Bytes before compression.")
    frame = models.BinaryField()
    digest = models.BinaryField(
        null=True, help_text="SHA-256 over place and frame, set by a trigger (`frame_checksums.sql`)."
    )

    class Meta:
        db_table = "export_part"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["export", "kind", "number"], name="export_part_place"),
        ]
