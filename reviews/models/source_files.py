"""Stored source files, and the checksums that every read is compared with."""

from typing import ClassVar

from django.db import models

from reviews.models.runs import Import


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
