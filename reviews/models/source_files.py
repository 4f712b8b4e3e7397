"""Stored source files with their checksums, uploads that are not imported yet, and the outcomes of lines."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import uuid4

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import RUN_NAME_LENGTH, Import


class SourceChunk(models.Model):
    """About 1 MiB of a source file: whole lines, as one zstd frame."""

    source = models.ForeignKey(Import, models.PROTECT, related_name="chunks", db_index=False)
    number = models.IntegerField(help_text="From 0, in file order.")
    first_line = models.BigIntegerField(help_text="From 1.")
    lines = models.IntegerField()
    size = models.IntegerField(help_text="Bytes before compression.")
    frame = models.BinaryField()
    digest = models.BinaryField(
        null=True, help_text="SHA-256 over place and frame, set by a trigger (`frame_checksums.sql`)."
    )

    class Meta:
        db_table = "source_chunk"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "number"], name="source_chunk_place"),
        ]
        indexes: ClassVar = [models.Index(fields=["source", "first_line"], name="source_chunk_line")]


class ImportSums(models.Model):
    """Checksums of an import, with which every later read of its source file is compared."""

    source = models.OneToOneField(Import, models.PROTECT, primary_key=True, related_name="sums")
    text_size = models.BigIntegerField(help_text="Bytes of the decompressed text.")
    text_lines = models.BigIntegerField()
    text_sha256 = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of a decompressed document, or of uncompressed lines.",
    )
    frames_sha256 = models.CharField(max_length=64, help_text="SHA-256 over the checksums of the frames.")
    figures = models.JSONField(
        default=dict,
        help_text="Columns of the finished import; empty before that. See `storage.checksums`.",
    )
    noted = models.JSONField(default=dict, help_text="Sums over the `import_line` rows, by outcome.")

    class Meta:
        db_table = "import_sums"


class Upload(models.Model):
    """A resumable upload. When it is complete, `source` is its import."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    file_name = models.CharField(max_length=255)
    run_name = models.CharField(max_length=RUN_NAME_LENGTH)
    strict = models.BooleanField(default=False)
    size = models.BigIntegerField(help_text="Bytes of the whole file.")
    offset = models.BigIntegerField(default=0, help_text="Bytes that have arrived.")
    chunked = models.BigIntegerField(
        null=True,
        help_text="Bytes that are stored as chunks of lines. Null if the file may be none of lines.",
    )
    source = models.ForeignKey(Import, models.CASCADE, null=True, related_name="+", db_index=False)

    class Meta:
        db_table = "upload"


class UploadPart(models.Model):
    """A few MiB of an upload. Stored in the database: the next part may reach another web server."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="parts", db_index=False)
    offset = models.BigIntegerField(help_text="Offset in the file, in bytes.")
    lines = models.IntegerField(null=True, help_text="Lines that end in a chunk. Null for any other part.")
    data = models.BinaryField(help_text="A zstd frame.")

    class Meta:
        db_table = "upload_part"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["upload", "offset"], name="upload_part_place"),
        ]


class ImportProgress(models.Model):
    """Progress of an import job, in a row of its own.

    A second connection writes it: the transaction of the import locks the row of the import, and nobody sees
    its changes before it commits.
    """

    source = models.OneToOneField(Import, models.CASCADE, primary_key=True, related_name="progress")
    size = models.BigIntegerField(help_text="Bytes of the decompressed file.")
    bytes_done = models.BigIntegerField(default=0)
    counts = models.JSONField(default=dict, help_text="`Import.counts` so far.")
    started_at = models.DateTimeField(null=True, help_text="When the first chunk was done.")
    reported_at = models.DateTimeField(null=True)
    cancelled_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)

    class Meta:
        db_table = "import_progress"

    @property
    def seconds(self) -> float:
        """Seconds from the first chunk to the last report."""
        if not self.started_at or not self.reported_at:
            return 0
        return (self.reported_at - self.started_at).total_seconds()

    @property
    def lines_per_second(self) -> int | None:
        return round(self.counts["lines"] / self.seconds) if self.seconds else None

    @property
    def seconds_left(self) -> int | None:
        """Estimated seconds left, at the average speed so far."""
        if not self.seconds:
            return None
        return round((self.size - self.bytes_done) * self.seconds / self.bytes_done)


class ImportLine(models.Model):
    """The outcome of a line that did not become a new record, and its reason.

    Consecutive unchanged lines share one row if their records are consecutive, too. The row refers to the
    first record by its first place, which never changes.
    """

    class Outcome(models.TextChoices):
        UNCHANGED = "unchanged"
        UPDATED = "updated"
        CONFLICT = "conflict"
        REJECTED = "rejected"

    source = models.ForeignKey(Import, models.PROTECT, related_name="exceptions", db_index=False)
    line = models.BigIntegerField(
        help_text="Line of the file, from 1, split on LF; the first line of a range."
    )
    lines = models.BigIntegerField(
        default=1, db_default=1, help_text="Length of the range; more than 1 only for unchanged lines."
    )
    outcome = models.CharField(max_length=10, choices=Outcome)
    field = models.CharField(max_length=100, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    evaluation = models.ForeignKey(
        "Evaluation", models.PROTECT, null=True, related_name="import_lines", db_index=False
    )
    first_import = models.ForeignKey(
        Import,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        help_text="For unchanged lines: the import that added their records.",
    )
    first_line = models.BigIntegerField(
        null=True, help_text="For unchanged lines: the line of that import that added the first record."
    )

    class Meta:
        db_table = "import_line"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "line"], name="import_line_place"),
            models.CheckConstraint(
                condition=models.Q(lines=1) | models.Q(lines__gt=1, outcome="unchanged"),
                name="import_line_range_is_unchanged",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["evaluation", "source"],
                name="import_line_evaluation",
                condition=models.Q(evaluation__isnull=False),
            ),
            models.Index(
                fields=["source", "first_import", "first_line"],
                name="import_line_unchanged",
                condition=models.Q(first_import__isnull=False),
            ),
        ]

    def listed(self) -> Iterator[dict[str, Any]]:
        """Yield each line of the row: line, outcome, field, reason."""
        for line in range(self.line, self.line + self.lines):
            yield {"line": line, "outcome": self.outcome, "field": self.field, "reason": self.reason}
