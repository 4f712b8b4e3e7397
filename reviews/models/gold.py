"""Gold sets: human decisions of a run, frozen to measure other judges on the same responses."""

from typing import ClassVar, Self

from django.db import models
from django.db.models.functions import Now

from reviews.models.people import User
from reviews.models.runs import RUN_NAME_LENGTH, Run, sees_every_run


class GoldSetQuerySet(models.QuerySet["GoldSet"]):
    """Gold sets by who may see them."""

    def visible_to(self, person: User) -> Self:
        """Gold sets that a person may see: those of open runs, and of restricted ones with them as a member.

        The set of a deleted run stays visible. If the run was restricted, only people with the permission
        `see_every_run` see it.
        """
        if sees_every_run(person):
            return self
        hidden = Run.objects.filter(is_restricted=True).exclude(members=person)
        return self.filter(is_restricted=False).exclude(run__in=hidden)


class GoldSet(models.Model):
    """A named, frozen set of human decisions. It is independent of its run, and survives its deletion."""

    name = models.CharField(max_length=100)
    run = models.ForeignKey(
        Run,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="None if the run was deleted or the set was imported.",
    )
    run_name = models.CharField(max_length=RUN_NAME_LENGTH, help_text="The name of the run at the time.")
    is_restricted = models.BooleanField(
        db_default=False, help_text="Whether the run was restricted when it was deleted."
    )
    filters = models.JSONField(help_text="The filters that chose its decisions: see `JudgeScope.as_json`.")
    rubric = models.JSONField(help_text="The rubric of the run at the time: see `Rubric.as_json`.")
    frozen_by = models.TextField(help_text="The username; empty for a command on the server.")
    frozen_at = models.DateTimeField()
    is_imported = models.BooleanField(db_default=False, help_text="Whether it came with a file.")
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    objects = GoldSetQuerySet.as_manager()

    class Meta:
        db_table = "gold_set"
        constraints: ClassVar = [models.UniqueConstraint(fields=["name"], name="gold_set_name_is_unique")]

    def __str__(self) -> str:
        return self.name


class GoldRating(models.Model):
    """One person's scores of a response in a gold set. Never changed."""

    class Basis(models.TextChoices):
        BLIND = "blind", "scored before the judge's scores were shown"
        ADJUDICATED = "adjudicated", "decided by a lead between reviewers who disagreed"

    gold_set = models.ForeignKey(GoldSet, models.CASCADE, related_name="ratings", db_index=False)
    basis = models.CharField(max_length=11, choices=Basis)
    response = models.BigIntegerField(help_text="As `EvaluationFacets.response`.")
    evaluation_id = models.TextField(help_text="The record that was rated.")
    task_id = models.TextField(null=True)
    model_id = models.TextField(null=True)
    is_flagged = models.BooleanField(help_text="Whether the record was flagged.")
    scores = models.JSONField(help_text="Criterion -> score.")
    verdict = models.CharField(max_length=10, null=True, help_text="The verdict of these scores.")
    probability = models.FloatField(help_text="As `Rating.probability`; 1 for an adjudicated decision.")
    raters = models.SmallIntegerField(help_text="As `Rating.raters`.")
    reviewer = models.TextField(help_text="The username.")
    guideline_version = models.IntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "gold_rating"
        indexes: ClassVar = [models.Index(fields=["gold_set", "response"], name="gold_rating_of_response")]
