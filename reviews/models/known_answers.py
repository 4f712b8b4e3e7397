"""Known answers: records that a lead and several reviewers review independently, to measure the reviewers."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Run


class KnownAnswerCheck(models.Model):
    """A check of the reviewers of a run against a lead's own independent reviews."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    started_by = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, help_text="The lead whose reviews it uses."
    )
    started_at = models.DateTimeField(db_default=Now())
    ended_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    ended_at = models.DateTimeField(null=True, help_text="None while it is running.")

    class Meta:
        db_table = "known_answer_check"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run"], condition=models.Q(ended_at=None), name="known_answer_check_one_running"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["run", "id"], name="known_answer_check_of_run")]


class KnownAnswer(models.Model):
    """A record of a check. The known answer is the independent review of the lead who started the check."""

    known_answer_check = models.ForeignKey(
        KnownAnswerCheck, models.CASCADE, related_name="answers", db_index=False
    )
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="known_answers", db_index=False)

    class Meta:
        db_table = "known_answer"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["known_answer_check", "evaluation"], name="known_answer_is_unique"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["evaluation"], name="known_answer_evaluation")]
