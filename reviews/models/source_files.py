"""Stored files: source files with their checksums, and uploads that are not imported yet."""

from typing import ClassVar
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
