"""Records and skips."""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Collate, Length, Now
from django.utils import timezone

from reviews.days import today
from reviews.models.loading import QuicklyLoaded
from reviews.models.people import User
from reviews.models.runs import Import, Run
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import DONE_STATUSES, NEEDS_REVIEW, NOT_REQUIRED, QUEUE_STATUSES, keeps_line
from reviews.records.wording import shorten_middle

# Sort expressions of lists. Never null, so that cursors can be compared; ordered by code point, so that
# Python and PostgreSQL agree. Shorter task ids come first: 9 before 10.
TASK_ORDER = (
    Coalesce(Length("task_id"), Value(2**31 - 1)),
    Collate(Coalesce("task_id", Value(""), output_field=models.TextField()), "C"),
    Collate(Coalesce("model_id", Value(""), output_field=models.TextField()), "C"),
)

# An id that is a hash, with its beginning.
_HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,}$")

# The states of a record, as conditions. `Evaluation` has properties for the same states.
IN_QUEUE = Q(human_review_status__in=QUEUE_STATUSES)
# A random sample whose decision agrees with the judge keeps its status "Not Required".
CONFIRMED = Q(human_review_status=NOT_REQUIRED, is_sampled=True, review__isnull=False)
DONE = Q(human_review_status__in=DONE_STATUSES) | CONFIRMED
NOT_FLAGGED = Q(human_review_status=NOT_REQUIRED) & ~CONFIRMED
ESCALATED = IN_QUEUE & Q(is_escalated=True)
CLAIMED = Q(claimed_by__isnull=False, claimed_until__gt=Now())
UNCLAIMED = Q(claimed_until=None) | Q(claimed_until__lte=Now())
# A prefetched record is claimed, but nobody works on it: lists and counts show it as waiting.
IN_PROGRESS = CLAIMED & Q(claim_is_prefetched=False)
CLAIMED_IN_QUEUE = IN_QUEUE & IN_PROGRESS & Q(is_escalated=False)
WAITING = IN_QUEUE & Q(is_escalated=False) & (UNCLAIMED | Q(claim_is_prefetched=True))

# A record's own due date, as the index of the queue sorts it. The last possible date stands for none: an
# index finds no nulls by equality.
QUEUE_DUE = Coalesce("due_on", Value(dt.date.max), output_field=models.DateField())

# Lists and locks do not load these columns, which may have megabytes.
LARGE_COLUMNS = (
    "raw_judge_output",
    "parsed_rubric_scores",
    "extracted_scores",
    "structured_model_response",
    "structured_ideal_response",
    "extra",
    "task_context",
)


class EvaluationQuerySet(models.QuerySet["Evaluation"]):
    """Records by their state."""

    def in_queue(self) -> Self:
        """Records that nobody has decided yet."""
        return self.filter(IN_QUEUE)

    def claimed(self) -> Self:
        """Records with a claim that has not expired."""
        return self.filter(CLAIMED)

    def in_progress(self) -> Self:
        """Claimed records that are not only prefetched."""
        return self.filter(IN_PROGRESS)

    def without_large_columns(self) -> Self:
        """Load the large columns only when they are read."""
        return self.defer(*LARGE_COLUMNS)


def _index_where_set(column: str, *columns: str, name: str) -> models.Index:
    """Return an index of the records in which a column is not null."""
    return models.Index(*columns, name=name, condition=models.Q(**{f"{column}__isnull": False}))


#: Records that nobody can score blind any more, and that are not decided here: a file decides them, or they
#: have returned to the queue.
CLOSED_UNDECIDED = (models.Q(needs_human_review=True) | models.Q(is_sampled=True)) & (
    models.Q(human_review_status__in=QUEUE_STATUSES, was_shown=True)
    | (~models.Q(human_review_status__in=QUEUE_STATUSES) & models.Q(review=None))
)


class Evaluation(QuicklyLoaded):
    """One record: its 23 fields under their own names, and its line in a source file.

    The columns are a copy for queries; the source file is authoritative. Text has U+FFFD where the file has
    U+0000, and JSON numbers that do not fit into 64 bits are stored as text.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, models.PROTECT, related_name="evaluations", db_index=False)
    # The line of its first appearance (its place in an export) and its current line.
    first_import = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    first_line = models.BigIntegerField()
    source_import = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    source_line = models.BigIntegerField()
    content_hash = models.BinaryField(help_text="BLAKE2b (16 bytes) of the line without its line end.")

    evaluation_id = models.TextField()
    task_id = models.TextField(null=True)
    model_id = models.TextField(null=True)
    response_id = models.TextField(null=True)
    ideal_response_id = models.TextField(null=True)
    judge_llm_model = models.TextField()
    judge_prompt_template_path = models.TextField()
    raw_judge_output = models.JSONField()
    parsed_rubric_scores = models.JSONField()
    extracted_scores = models.JSONField(
        null=True,
        help_text="Scores extracted from raw output at import (`extracted_scores`). Null if parsed.",
    )
    criteria_order = models.TextField(
        null=True,
        help_text="Order of the parsed scores in the file (`criteria_order`). Null if it is that of jsonb.",
    )
    aggregated_score = models.TextField(null=True)
    final_answer_verified = models.BooleanField(null=True)
    verification_message = models.TextField(null=True)
    needs_human_review = models.BooleanField()
    review_reasons = models.JSONField()
    structured_model_response = models.JSONField(null=True)
    structured_ideal_response = models.JSONField(null=True)
    parsing_error = models.TextField(null=True)
    human_review_status = models.TextField()
    human_reviewer_id = models.TextField(null=True)
    human_review_timestamp = models.DateTimeField(null=True)
    human_corrected_scores = models.JSONField(null=True)
    human_review_comments = models.TextField(null=True)
    created_at = models.DateTimeField()
    extra = models.JSONField(default=dict)
    task_context = models.JSONField(
        null=True,
        help_text="Question and responses that a mapping takes from the line: see `records.task_context`.",
    )

    # Computed by PostgreSQL, so that every INSERT fills them.
    has_answer = models.GeneratedField(
        expression=models.Func(
            models.F("structured_model_response"), models.F("task_context"), function="has_any_answer"
        ),
        output_field=models.BooleanField(),
        db_persist=True,
        help_text="Whether the record has an answer of a model: see `responses.has_answer`.",
    )
    blind_position = models.GeneratedField(
        expression=models.Func(Value("blind"), models.F("evaluation_id"), function="share_position"),
        output_field=models.FloatField(),
        db_persist=True,
        help_text="The record's position for blind review: see `allocation.position`.",
    )

    # The claim. On the row itself, so that one row lock decides who gets the record. Written by `queue` only.
    claimed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="claims", db_index=False)
    claimed_until = models.DateTimeField(null=True)
    claim_is_prefetched = models.BooleanField(
        db_default=False, help_text="Whether the record was claimed ahead of time and is not on a screen yet."
    )
    # Set by leads. An escalated record is in nobody's queue.
    assigned_to = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    priority = models.SmallIntegerField(db_default=0, help_text="Higher priorities come first.")
    due_on = models.DateField(null=True, help_text="The due date. Null for that of the run.")
    is_escalated = models.BooleanField(db_default=False, help_text="Whether an escalation is open.")
    is_sampled = models.BooleanField(
        db_default=False, help_text="Whether the record is in the random sample of unflagged records."
    )
    sample_probability = models.FloatField(
        null=True,
        help_text="The probability, in (0, 1], of being drawn into the sample: see `sampling.draws`.",
    )
    version = models.IntegerField(db_default=1, help_text="Grows with every change of the record.")
    updated_at = models.DateTimeField(
        null=True, help_text="When the version last grew. Null before the first change. Set by a trigger."
    )
    review = models.ForeignKey(
        "Review", models.PROTECT, null=True, related_name="+", help_text="The current decision."
    )
    is_outdated = models.BooleanField(
        db_default=False, help_text="The current decision is outdated: a file has changed its evidence since."
    )
    was_shown = models.BooleanField(
        db_default=False,
        help_text="The record has left the queue before, so its scores may be known. Set by a trigger.",
    )

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        db_table = "evaluation"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation_id", "run"], name="evaluation_id_is_unique_in_run"),
            models.UniqueConstraint(
                fields=["run", "first_import", "first_line"], name="evaluation_place_is_unique"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                "run",
                "assigned_to",
                models.F("priority").desc(),
                QUEUE_DUE,
                Length("task_id"),
                "task_id",
                "model_id",
                "id",
                name="evaluation_queue_order",
                # Without claimed records, which would pile up at the front of the queue.
                condition=models.Q(
                    human_review_status__in=QUEUE_STATUSES, is_escalated=False, claimed_by__isnull=True
                ),
            ),
            models.Index("run", "task_id", "model_id", name="evaluation_siblings"),
            _index_where_set("claimed_by", "claimed_by", "claimed_until", name="evaluation_claims"),
            _index_where_set("claimed_by", "run", "claimed_until", name="evaluation_claim_expiry"),
            models.Index("run", "human_review_status", name="evaluation_progress"),
            models.Index("run", *TASK_ORDER, "id", name="evaluation_task_order"),
            models.Index("run", "created_at", "id", name="evaluation_newest"),
            # Few or no records of a new file are in these indexes, so they cost an import nothing.
            _index_where_set(
                "human_review_timestamp", "run", "human_review_timestamp", "id", name="evaluation_reviewed"
            ),
            _index_where_set("updated_at", "run", "updated_at", "id", name="evaluation_updated"),
            _index_where_set(
                "human_reviewer_id", "run", "human_reviewer_id", "id", name="evaluation_decided_by"
            ),
            _index_where_set("assigned_to", "run", "assigned_to", name="evaluation_assigned"),
            # Counts of assigned and overdue records per person read this index alone.
            models.Index(
                "assigned_to",
                "run",
                "due_on",
                name="evaluation_workload",
                condition=models.Q(
                    assigned_to__isnull=False, human_review_status__in=QUEUE_STATUSES, is_escalated=False
                ),
            ),
            _index_where_set("due_on", "run", "due_on", "id", name="evaluation_due"),
            models.Index("run", name="evaluation_escalated", condition=models.Q(is_escalated=True)),
            # Counts of records to score blind read this index alone.
            models.Index(
                fields=["run", "has_answer", "blind_position"],
                include=[
                    "id",
                    "needs_human_review",
                    "judge_llm_model",
                    "judge_prompt_template_path",
                    "model_id",
                ],
                name="evaluation_unseen",
                condition=models.Q(human_review_status__in=QUEUE_STATUSES, review=None, was_shown=False),
            ),
            models.Index("run", name="evaluation_outdated", condition=models.Q(is_outdated=True)),
            models.Index("run", name="evaluation_sampled", condition=models.Q(is_sampled=True)),
            models.Index(
                "first_import",
                "first_line",
                name="evaluation_decided_or_moved",
                condition=models.Q(review__isnull=False) | ~models.Q(source_import=models.F("first_import")),
            ),
            models.Index("run", name="evaluation_closed", condition=CLOSED_UNDECIDED),
        ]

    def __str__(self) -> str:
        return self.evaluation_id

    @property
    def title(self) -> str:
        """The title of the record on a page: its task and its model. Hashes and long ids are shortened."""
        task = f"Task {self.task_id}" if self.task_id else f"Record {self.evaluation_id}"
        task = shorten_middle(_HASH.sub(r"\1…", task))
        return f"{task} · {shorten_middle(self.model_id)}" if self.model_id else task

    @property
    def short_title(self) -> str:
        """The title of the record in a list with a column for the model: its task, or else its id."""
        return shorten_middle(self.task_id or _HASH.sub(r"\1…", self.evaluation_id))

    @property
    def human(self) -> dict[str, Any]:
        """The five human_* values as JSON, with the timestamp in ISO 8601."""
        moment = self.human_review_timestamp
        values = {name: getattr(self, name) for name in HUMAN_FIELDS}
        return values | {"human_review_timestamp": moment.isoformat() if moment else None}

    @human.setter
    def human(self, values: Mapping[str, Any]) -> None:
        for name in HUMAN_FIELDS:
            setattr(self, name, values[name])
        moment = values["human_review_timestamp"]
        self.human_review_timestamp = dt.datetime.fromisoformat(moment) if moment else None

    @property
    def in_queue(self) -> bool:
        return self.human_review_status in QUEUE_STATUSES

    @property
    def is_claimed(self) -> bool:
        """Whether there is a claim that has not expired."""
        return self.claimed_until is not None and self.claimed_until > timezone.now()

    @property
    def is_in_progress(self) -> bool:
        """Whether it is claimed and not only prefetched."""
        return self.is_claimed and not self.claim_is_prefetched

    @property
    def due(self) -> dt.date | None:
        """The due date of a record in the queue: its own, or that of its run."""
        return (self.due_on or self.run.due_on) if self.in_queue else None

    @property
    def is_overdue(self) -> bool:
        return self.due is not None and self.due < today()

    @property
    def is_done(self) -> bool:
        return self.human_review_status in DONE_STATUSES

    @property
    def is_confirmed(self) -> bool:
        """Whether it is a sampled record whose current decision changes no score."""
        return self.review_id is not None and self.keeps_line

    @property
    def is_decided(self) -> bool:
        return self.is_done or self.is_confirmed

    @property
    def keeps_line(self) -> bool:
        """Whether an export copies the record's line from the file unchanged."""
        has_review, status = self.review_id is not None, self.human_review_status
        return keeps_line(has_review=has_review, is_sampled=self.is_sampled, status=status)

    @property
    def hides_reasons(self) -> bool:
        """Whether its flag reasons are hidden, because its run has sampled records in the queue."""
        return self.in_queue and self.run.draws_samples

    @property
    def shown_status(self) -> str:
        """The status to show. Sampled and flagged records in the queue must show the same one."""
        return NEEDS_REVIEW if self.hides_reasons else self.human_review_status


def with_draws_samples(runs: "models.QuerySet[Run]") -> "models.QuerySet[Run]":
    """Let the query of runs load `Run.draws_samples`, too, which takes a query otherwise."""
    sampled = IN_QUEUE & Q(run=models.OuterRef("pk"), is_sampled=True)
    has_samples = models.Exists(Evaluation.objects.filter(sampled))
    loaded: dict[str, Any] = {
        "draws_samples": models.ExpressionWrapper(Q(sample_share__gt=0) | has_samples, models.BooleanField())
    }
    return runs.annotate(**loaded)


class Skip(models.Model):
    """A record that a reviewer skipped. It returns last in their own queue only."""

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="skips", db_index=False)
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="skips", db_index=False)
    skipped_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "skip"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["reviewer", "evaluation"], name="skip_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["evaluation"], name="skip_evaluation")]
