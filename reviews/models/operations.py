"""Backups that were written, and errors of background jobs, for the pages of admins."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class Backup(models.Model):
    """A backup that `backup` has written. The file itself contains the rows of earlier backups."""

    at = models.DateTimeField(db_default=Now(), help_text="When it was complete.")
    target = models.TextField(help_text="The path of the file, or - for standard output.")
    size = models.BigIntegerField(help_text="In bytes.")

    class Meta:
        db_table = "backup"
        permissions: ClassVar = [("manage_site", "Can manage jobs and see the state of the site")]


class JobError(models.Model):
    """The last error of a background job. `retention` deletes it after the job."""

    job_id = models.BigIntegerField(primary_key=True, help_text="Key in `procrastinate_jobs`.")
    at = models.DateTimeField()
    error = models.TextField(help_text="Without contents of records.")

    class Meta:
        db_table = "job_error"
