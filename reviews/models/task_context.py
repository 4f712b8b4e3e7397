"""Task context: prompts, reference answers and model answers that evaluations do not include."""

from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import Run


class ContextImport(models.Model):
    """A file of task context, for one run or (None) for every run without its own."""

    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="context_imports")
    file_name = models.CharField(max_length=255)
    size = models.BigIntegerField(help_text="Bytes of the file as received.")
    sha256 = models.CharField(max_length=64)
    tasks = models.BigIntegerField(default=0)
    answers = models.BigIntegerField(default=0)
    rejected = models.JSONField(default=list, help_text="[{place, field, reason}, ...]; the first thousand.")
    rejected_count = models.BigIntegerField(default=0)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "context_import"

    @property
    def report(self) -> dict[str, Any]:
        """The result of the import as JSON, for the command and the API."""
        return {
            "run": self.run.name if self.run else None,
            "tasks": self.tasks,
            "answers": self.answers,
            "rejected": self.rejected_count,
            "exceptions": self.rejected,
        }


class TaskContext(models.Model):
    """A task: its prompt and its reference answer. A later file replaces it."""

    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="task_contexts", db_index=False)
    source = models.ForeignKey(ContextImport, models.PROTECT, related_name="contexts", db_index=False)
    task_id = models.TextField(help_text="As in an evaluation; a number as written in the file.")
    prompt = models.TextField()
    ideal_response = models.JSONField(null=True, help_text="A string or an object.")
    final_answer = models.JSONField(null=True)
    metadata = models.JSONField(default=dict)

    class Meta:
        db_table = "task_context"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["task_id", "run"], nulls_distinct=False, name="task_context_is_unique"
            ),
        ]


class TaskAnswer(models.Model):
    """The answer of one model to a task."""

    context = models.ForeignKey(TaskContext, models.CASCADE, related_name="answers", db_index=False)
    model_id = models.TextField()
    response_id = models.TextField(null=True)
    response = models.JSONField(help_text="A string or an object.")

    class Meta:
        db_table = "task_answer"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["context", "model_id", "response_id"],
                nulls_distinct=False,
                name="task_answer_is_unique",
            ),
        ]
