"""Exports that are built by a job, and their files until they are removed."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Import, Run


class Export(models.Model):
    """One export somebody asked for in the browser: what of, and the file that came of it."""

    class State(models.TextChoices):
        UNFINISHED = "unfinished"
        DONE = "done"
        FAILED = "failed"

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

    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, default="", blank=True)
    lines = models.BigIntegerField(default=0)
    lines_changed = models.BigIntegerField(default=0)
    lines_left_out = models.BigIntegerField(default=0)

    class Meta:
        db_table = "export"

    def __str__(self) -> str:
        return f"export {self.pk} of {self.run}"


class ExportProgress(models.Model):
    """How far the job is. A row of its own, because it is written beside the transaction that builds."""

    export = models.OneToOneField(Export, models.CASCADE, primary_key=True, related_name="progress")
    bytes_read = models.BigIntegerField(default=0)
    bytes_to_read = models.BigIntegerField(help_text="Of the kept files.")

    class Meta:
        db_table = "export_progress"

    def __str__(self) -> str:
        return f"{self.bytes_read} of {self.bytes_to_read} bytes"


class ExportPart(models.Model):
    """A stretch of an export's file or of its receipt, one zstd frame.

    In the database, as the imported files are: whichever host built it, each can send it.
    """

    class Kind(models.TextChoices):
        FILE = "file"
        RECEIPT = "receipt"

    export = models.ForeignKey(Export, models.CASCADE, related_name="parts", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    number = models.IntegerField(help_text="From 0; all but the last are of one size.")
    frame = models.BinaryField()
    digest = models.BinaryField(
        null=True, help_text="SHA-256 of the row's place and frame; a trigger fills it. See `exports`."
    )

    class Meta:
        db_table = "export_part"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["export", "kind", "number"], name="export_part_place"),
        ]
