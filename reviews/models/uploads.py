"""Uploads that are not imported yet."""

from typing import ClassVar
from uuid import uuid4

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import RUN_NAME_LENGTH, Import


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
