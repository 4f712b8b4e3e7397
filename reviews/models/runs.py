"""Runs, their imports, and their guidelines with all versions."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.functional import cached_property

from reviews.database.held_transaction import HeldTransaction
from reviews.models.loading import QuicklyLoaded
from reviews.models.people import User
from reviews.records.status import QUEUE_STATUSES

RUN_NAME_LENGTH = 200


def usual_blind_share() -> float:
    """Return the blind share of new runs, from the settings."""
    return float(settings.BLIND_SHARE)


def are_new_runs_restricted() -> bool:
    """Return whether new runs are restricted, from the settings."""
    return bool(settings.RESTRICT_NEW_RUNS)


class RunQuerySet(models.QuerySet["Run"]):
    """Runs by who may see them. Every lookup of a run for a person starts from `visible_to`."""

    def visible_to(self, person: User) -> Self:
        """Runs that a person may see: open runs, and restricted ones with the person as a member.

        People with the permission `see_every_run` see all runs. Nobody sees a run that is being deleted.
        """
        return self.exclude(pk__in=hidden_runs(person))


def hidden_runs(person: User) -> RunQuerySet:
    """Return the runs that a person may not see: see `RunQuerySet.visible_to`."""
    hidden = models.Q(deletion_requested_at__isnull=False)
    if not sees_every_run(person):
        hidden |= models.Q(is_restricted=True) & ~models.Q(members=person)
    return Run.objects.filter(hidden)


def in_visible_runs(person: User) -> models.Q:
    """Return the condition on rows whose `run` the person may see.

    Rows without a run are for people who see every run.
    """
    is_visible = ~models.Q(run__in=hidden_runs(person))
    return is_visible if sees_every_run(person) else is_visible & models.Q(run__isnull=False)


def sees_every_run(person: User) -> bool:
    """Return whether restricted runs are open to the person, too."""
    return person.has_perm("reviews.see_every_run")


class Run(QuicklyLoaded):
    """A named set of records that is imported, reviewed and exported together."""

    name = models.CharField(max_length=RUN_NAME_LENGTH)
    created_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(
        null=True, help_text="When it became read-only and left the lists. Null for other runs."
    )
    deletion_requested_at = models.DateTimeField(
        null=True, help_text="Since when a job deletes it and nobody sees it. Null for other runs."
    )

    mapping = models.JSONField(
        null=True,
        help_text="How lines of another format are read: see `mapping`. None if the lines are records.",
    )

    # Empty values of the rubric mean the defaults of `records.rubric`.
    rubric = models.JSONField(default=dict, help_text="How records are scored: see `Rubric.as_json`.")
    is_rubric_declared = models.BooleanField(
        db_default=False,
        help_text="Whether somebody has declared the rubric. Imports extend an inferred one.",
    )

    guideline_version = models.IntegerField(null=True, help_text="The current version of the guideline.")

    # How the judge is measured: see `queue.allocation`.
    blind_share = models.FloatField(
        default=usual_blind_share, help_text="Share of records that are reviewed blind, from 0 to 1."
    )
    sample_share = models.FloatField(
        default=0.0, help_text="Share of unflagged records that are sampled for review, from 0 to 1."
    )
    overlap_share = models.FloatField(
        default=0.0, help_text="Share of records that several people review, from 0 to 1."
    )
    overlap = models.SmallIntegerField(default=2, help_text="Number of people who review each of them.")
    accuracy_target = models.FloatField(
        null=True,
        help_text="The blind accuracy that the judge should reach, from 0 to 1. Null for no target.",
    )
    spot_check_share = models.FloatField(
        default=0.0, help_text="Share of decisions that are drawn for a spot check, from 0 to 1."
    )
    review_plan = models.JSONField(
        null=True, help_text="The plan that the queue serves: see `planned_shares.ReviewPlan`. Null for none."
    )
    claim_minutes = models.PositiveSmallIntegerField(
        null=True, help_text="How long a claim lasts, in minutes. Null means the setting of the site."
    )

    due_on = models.DateField(null=True, help_text="The due date of records without one of their own.")
    is_restricted = models.BooleanField(
        default=are_new_runs_restricted, help_text="Whether only its members and admins may see the run."
    )
    members = models.ManyToManyField(User, db_table="run_member", related_name="+")

    objects = RunQuerySet.as_manager()

    class Meta:
        db_table = "run"
        constraints: ClassVar = [models.UniqueConstraint(fields=["name"], name="run_name_is_unique")]
        indexes: ClassVar = [
            # `hidden_runs`, and the inbox's rubrics to confirm.
            models.Index(
                fields=["id"],
                name="run_hidden",
                condition=models.Q(deletion_requested_at__isnull=False) | models.Q(is_restricted=True),
            ),
            models.Index(
                fields=["id"],
                name="run_rubric_undeclared",
                condition=models.Q(archived_at=None, is_rubric_declared=False),
            ),
            models.Index(fields=["id"], name="run_planned", condition=models.Q(review_plan__isnull=False)),
        ]
        permissions: ClassVar = [
            ("import_file", "Can import files"),
            ("export_run", "Can export runs"),
            ("review_evaluation", "Can review evaluations"),
            ("read_audit", "Can read the audit log"),
            ("lead_review", "Can release claims of others"),
            ("resolve_conflict", "Can resolve conflicts"),
            ("configure_run", "Can change how a run is judged"),
            ("import_context", "Can import task context"),
            ("manage_people", "Can manage accounts"),
            ("manage_webhooks", "Can manage webhooks"),
            ("see_every_run", "Can see restricted runs without being a member"),
        ]

    def __str__(self) -> str:
        return self.name

    def as_json(self) -> str:
        return self.name

    def is_visible_to(self, person: User) -> bool:
        """Return whether a person may see the run. Open runs need no query."""
        if self.deletion_requested_at:
            return False
        return not self.is_restricted or sees_every_run(person) or self.members.filter(pk=person.pk).exists()

    @property
    def is_rubric_proposed(self) -> bool:
        """Whether the rubric was inferred from files, and nobody has confirmed or declared it."""
        return bool(self.rubric) and not self.is_rubric_declared

    @cached_property
    def draws_samples(self) -> bool:
        """Whether its queue may have random samples, which nobody may distinguish from flagged records."""
        if self.sample_share > 0 or self.pk is None:
            return self.sample_share > 0
        return self.evaluations.filter(is_sampled=True, human_review_status__in=QUEUE_STATUSES).exists()

    @property
    def files(self) -> "models.QuerySet[Import]":
        """The finished imports, in commit order."""
        return self.imports.filter(state=Import.State.DONE).order_by("sequence")


class Import(QuicklyLoaded):
    """The import of one file into a run, with the number of its lines per outcome.

    Once it is done, `new + unchanged + updated + conflicts + rejected + blank = lines`.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    UNFINISHED = (State.QUEUED, State.RUNNING)
    OUTCOMES = ("new", "unchanged", "updated", "conflicts", "rejected", "blank")

    run = models.ForeignKey(
        Run,
        models.PROTECT,
        null=True,
        related_name="imports",
        help_text="None for an import into a new run, until a line is accepted.",
    )
    run_name = models.CharField(
        max_length=RUN_NAME_LENGTH, help_text="The requested name. The run may have another name by now."
    )
    mapping = models.JSONField(
        null=True, help_text="The mapping of the run to create; None for a run that existed before."
    )
    file_name = models.CharField(max_length=255)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    strict = models.BooleanField(default=False)
    error = models.TextField(default="", blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    dismissed_at = models.DateTimeField(null=True, help_text="When its failure was dismissed from the inbox.")
    # Clocks cannot give this order: those of two workers differ, and a clock may be set back.
    sequence = models.BigIntegerField(
        null=True, help_text="Position among the run's finished imports, from 1. Set by a trigger."
    )
    size = models.BigIntegerField(default=0, help_text="Bytes of the file as received.")
    sha256 = models.CharField(max_length=64, default="", blank=True)
    has_bom = models.BooleanField(default=False)
    records_path = models.TextField(
        null=True,
        help_text="Path of the records in a JSON document, empty if the document is their list. Null: lines.",
    )
    is_archive = models.BooleanField(
        default=False,
        help_text="Whether the records are files of an archive, named like records_path.",
    )
    repeated_lines = models.BigIntegerField(
        default=0,
        help_text="Lines at its start that repeat an earlier import of the run: same bytes or same record.",
    )
    of_other_judge = models.BigIntegerField(
        default=0, help_text="Rejected lines with another judge's evaluation of a record of the run."
    )
    lines = models.BigIntegerField(default=0)
    new = models.BigIntegerField(default=0)
    unchanged = models.BigIntegerField(default=0)
    updated = models.BigIntegerField(default=0)
    conflicts = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    blank = models.BigIntegerField(default=0)

    class Meta:
        db_table = "import"
        indexes: ClassVar = [
            # The inbox's failed imports.
            models.Index(
                fields=["id"], name="import_failed", condition=models.Q(state="failed", dismissed_at=None)
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "sequence"], name="import_sequence_is_unique"),
            models.CheckConstraint(
                condition=~models.Q(state="done") | models.Q(run__isnull=False),
                name="import_done_has_run",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} into {self.target_name}"

    @property
    def target_name(self) -> str:
        """The name of its run, or the requested name if there is no run."""
        return self.run.name if self.run else self.run_name

    @property
    def target_run(self) -> Run:
        """The run of an import into an existing run. Raises `ValueError` without a run."""
        if self.run is None:
            raise ValueError(f"Import {self.pk} has no run.")
        return self.run

    @property
    def imported_at(self) -> dt.datetime:
        """When the import finished, or was created if it has not finished."""
        return self.finished_at or self.created_at

    @property
    def is_document(self) -> bool:
        """Whether the file is a JSON document or an archive, and its lines are the members of a list."""
        return self.records_path is not None

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines, and of lines per outcome."""
        return {name: getattr(self, name) for name in ("lines", *self.OUTCOMES)}

    def listed_exceptions(self) -> Iterator[dict[str, Any]]:
        """Yield each line that is neither blank nor a new record, in order: line, outcome, field, reason."""
        with HeldTransaction():
            for row in self.exceptions.order_by("line").iterator():
                yield from row.listed()


class RunCount(models.Model):
    """Number of records of a run with one counted status (`counted_status`), as the sum over several rows.

    Triggers on `evaluation` write it (`run_counts.sql`), each in a row that nobody else has locked, so that
    reviewers wait neither for each other nor for an import.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    status = models.TextField()
    evaluations = models.BigIntegerField()

    class Meta:
        db_table = "run_count"
        indexes: ClassVar = [models.Index(fields=["run", "status"], name="run_count_of_run")]


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
