"""Guidelines for reviewers, with all their versions."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Run


class Guideline(models.Model):
    """A version of a run's guideline. A change adds a version; decisions note theirs."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="guidelines", db_index=False)
    version = models.IntegerField(help_text="From 1, within the run.")
    text = models.TextField(blank=True, help_text="Markdown with LaTeX. Empty: the guideline was removed.")
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "guideline"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "version"], name="guideline_version_is_unique")
        ]
