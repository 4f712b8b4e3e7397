"""The progress of imports, and the outcome of each line."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.db import models

from reviews.models.people import User
from reviews.models.runs import Import


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
