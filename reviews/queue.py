"""Who holds what: the order of a run's queue, claims, skips, and the counts of a run.

A claim is two columns on the evaluation itself. It is taken by one statement whose WHERE
PostgreSQL checks again on the newest version of the locked row, so two reviewers never get the
same record. (A claim in a table of its own was tried and handed out 381 of 1,600 twice.)
"""

import datetime as dt
import re
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from reviews import audit
from reviews.models import Evaluation, Run, Skip, User
from reviews.permissions import check, check_release
from reviews.record import DONE_WORDS, NOT_REQUIRED, QUEUE_WORDS

PAGE_SIZE = 50


class Taken(Exception):
    """The record cannot be claimed or renewed; the reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# The states, one definition each, used by claims, counts and lists alike.
IN_QUEUE = Q(human_review_status__in=QUEUE_WORDS)
DONE = Q(human_review_status__in=DONE_WORDS)
STATES = {
    "queue": IN_QUEUE,
    "done": DONE,
    "not-required": Q(human_review_status=NOT_REQUIRED),
    "all": Q(),
}

# One statement: the inner SELECT passes over rows that others have locked, and the claim columns
# are on the locked row, so that a claim committed a moment ago is seen. The order is the order of
# the queue index: task by task (shorter ids first, so 9 comes before 10), then model.
_QUEUE_WORDS = ", ".join(f"'{word}'" for word in QUEUE_WORDS)
_CLAIM = """
    UPDATE evaluation SET claimed_by_id = %(reviewer)s, claimed_until = %(until)s
    WHERE id = (
        SELECT id FROM evaluation e
        WHERE e.run_id = %(run)s AND e.human_review_status IN ({queue})
          AND (e.claimed_until IS NULL OR e.claimed_until < now())
          AND NOT EXISTS (
              SELECT FROM skip s WHERE s.evaluation_id = e.id AND s.reviewer_id = %(reviewer)s
          )
          AND ({preference})
        ORDER BY length(e.task_id), e.task_id, e.model_id, e.id
        LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id
"""
# The task a reviewer has in mind comes first; then one that nobody else is at; then any.
_SAME_TASK = """
    (length(e.task_id), e.task_id) = (
        SELECT length(t.task_id), t.task_id FROM review r JOIN evaluation t ON t.id = r.evaluation_id
        WHERE r.reviewer_id = %(reviewer)s AND t.run_id = %(run)s
        ORDER BY r.id DESC LIMIT 1
    )
"""
_TASK_OF_NOBODY = """
    e.task_id IS NULL OR e.task_id <> ALL (
        SELECT h.task_id FROM evaluation h
        WHERE h.claimed_by_id IS NOT NULL AND h.claimed_until > now() AND h.run_id = %(run)s
          AND h.task_id IS NOT NULL
    )
"""
_PREFERENCES = (_SAME_TASK, _TASK_OF_NOBODY, "true")


@transaction.atomic
def claim_next(*, run: Run, reviewer: User) -> Evaluation | None:
    """The record the reviewer holds in this run, else the next free one, else None."""
    check(reviewer, "review_evaluation")
    # Two tabs (or a double click) of one reviewer take turns, so that both get the same record.
    User.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
    held = _held_by(run, reviewer)
    if held:
        return held
    values: dict[str, Any] = {"run": run.pk, "reviewer": reviewer.pk, "until": _claim_end()}
    for preference in _PREFERENCES:
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM.format(preference=preference, queue=_QUEUE_WORDS), values)
            row = cursor.fetchone()
        if row:
            return _claimed(run.evaluations.get(pk=row[0]), reviewer)
    return None


def _held_by(run: Run, reviewer: User) -> Evaluation | None:
    """What the reviewer still holds, renewed."""
    held = (
        run.evaluations.filter(IN_QUEUE, claimed_by=reviewer, claimed_until__gt=timezone.now())
        .order_by("-claimed_until")
        .select_for_update(of=["self"])
        .first()
    )
    if held:
        held.claimed_until = _claim_end()
        held.save(update_fields=["claimed_until"])
    return held


@transaction.atomic
def claim(*, evaluation_id: int, reviewer: User) -> Evaluation:
    """Claim one very record. Raises `Taken` when somebody else holds it or it has left the queue."""
    check(reviewer, "review_evaluation")
    evaluation = locked(evaluation_id)
    check_free(evaluation, reviewer)
    evaluation.claimed_by, evaluation.claimed_until = reviewer, _claim_end()
    evaluation.save(update_fields=["claimed_by", "claimed_until"])
    evaluation.skips.filter(reviewer=reviewer).delete()
    return _claimed(evaluation, reviewer)


@transaction.atomic
def renew(*, evaluation_id: int, reviewer: User) -> dt.datetime:
    """Hold on to a record for another while; returns until when. Raises `Taken`.

    A claim that ran out is renewed unless somebody else has the record by now.
    """
    evaluation = locked(evaluation_id)
    check_free(evaluation, reviewer)
    if evaluation.claimed_by_id != reviewer.pk:
        raise Taken("You do not hold this record any more. Claim it again to go on.")
    until = evaluation.claimed_until = _claim_end()
    evaluation.save(update_fields=["claimed_until"])
    return until


@transaction.atomic
def release(*, evaluation_id: int, actor: User) -> None:
    """Give a record back to everybody: the holder's own, or as a lead anybody's."""
    evaluation = locked(evaluation_id)
    if evaluation.claimed_by is None:
        return
    check_release(actor, evaluation)
    holder = evaluation.claimed_by.username
    free(evaluation)
    audit.record("release", actor=actor, run=evaluation.run, evaluation=evaluation, holder=holder)


@transaction.atomic
def skip(*, evaluation_id: int, reviewer: User) -> None:
    """Put a record off: free for others now, last for this reviewer. Raises `Taken`."""
    check(reviewer, "review_evaluation")
    evaluation = locked(evaluation_id)
    check_free(evaluation, reviewer)
    free(evaluation)
    Skip.objects.get_or_create(evaluation=evaluation, reviewer=reviewer)
    audit.record("skip", actor=reviewer, run=evaluation.run, evaluation=evaluation)


@transaction.atomic
def take_back_skips(*, run: Run, reviewer: User) -> int:
    """Bring what the reviewer skipped in a run back into their queue; returns how many."""
    count, _ = Skip.objects.filter(IN_QUEUE_SKIPS, evaluation__run=run, reviewer=reviewer).delete()
    if count:
        audit.record("take back skips", actor=reviewer, run=run, count=count)
    return count


IN_QUEUE_SKIPS = Q(evaluation__human_review_status__in=QUEUE_WORDS)


def locked(evaluation_id: int) -> Evaluation:
    """The evaluation with its row locked until the transaction ends. Raises `Evaluation.DoesNotExist`.

    Claim, skip, submit and import of one record take turns here: each sees what the other did.
    """
    # Nothing is joined: after a wait for the lock PostgreSQL renews the locked row alone, and holder
    # and review would be missing that came meanwhile.
    return Evaluation.objects.select_for_update().get(pk=evaluation_id)


def check_free(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `Taken` unless the record is in the queue and nobody else holds it."""
    if evaluation.review and not evaluation.in_queue:
        review = evaluation.review
        raise Taken(f"{review.reviewer.name} submitted this at {review.submitted_at:%H:%M} UTC.")
    if not evaluation.in_queue:
        raise Taken(f"This record is not in the queue: its status is {evaluation.human_review_status}.")
    if evaluation.claimed_by_id not in {None, reviewer.pk} and is_held(evaluation):
        holder, until = evaluation.claimed_by, evaluation.claimed_until
        raise Taken(f"{holder.name if holder else ''} holds this record until {until:%H:%M} UTC.")


def is_held(evaluation: Evaluation) -> bool:
    """Whether somebody's claim on the record is still running."""
    return evaluation.claimed_until is not None and evaluation.claimed_until > timezone.now()


def free(evaluation: Evaluation) -> None:
    """Take the claim off a locked record."""
    evaluation.claimed_by = evaluation.claimed_until = None
    evaluation.save(update_fields=["claimed_by", "claimed_until"])


def _claimed(evaluation: Evaluation, reviewer: User) -> Evaluation:
    audit.record("claim", actor=reviewer, run=evaluation.run, evaluation=evaluation)
    return evaluation


def _claim_end() -> dt.datetime:
    return timezone.now() + settings.CLAIM_LENGTH


class Progress(NamedTuple):
    """Counts of evaluations. `held` is the part of the queue that somebody holds now."""

    total: int
    waiting: int
    held: int
    done: int
    not_required: int

    @property
    def to_review(self) -> int:
        return self.waiting + self.held + self.done


_PROGRESS = """
    SELECT run.id, run.name, run.created_at, count(e.id),
           count(*) FILTER (WHERE e.human_review_status = ANY(%(queue)s)
                            AND (e.claimed_until IS NULL OR e.claimed_until <= now())),
           count(*) FILTER (WHERE e.human_review_status = ANY(%(queue)s) AND e.claimed_until > now()),
           count(*) FILTER (WHERE e.human_review_status = ANY(%(done)s)),
           count(*) FILTER (WHERE e.human_review_status = %(not_required)s)
    FROM run LEFT JOIN evaluation e ON e.run_id = run.id
    WHERE %(run)s::bigint IS NULL OR run.id = %(run)s
    GROUP BY run.id ORDER BY run.created_at DESC, run.id DESC
"""


def runs_with_progress(run: Run | None = None) -> list[tuple[Run, Progress]]:
    """All runs (or the one), newest first, each with its counts."""
    values: dict[str, Any] = {
        "queue": list(QUEUE_WORDS),
        "done": list(DONE_WORDS),
        "not_required": NOT_REQUIRED,
        "run": run.pk if run else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PROGRESS, values)
        return [
            (Run(pk=pk, name=name, created_at=created_at), Progress(*numbers))
            for pk, name, created_at, *numbers in cursor.fetchall()
        ]


def progress(run: Run) -> Progress:
    [(_, numbers)] = runs_with_progress(run)
    return numbers


class Standing(NamedTuple):
    """What is left of a run's queue for one reviewer, and why the rest is not theirs now."""

    left: int
    skipped_by_you: int
    held_by_others: int
    next_free_at: dt.datetime | None


def standing(*, run: Run, reviewer: User) -> Standing:
    """`left` counts what the reviewer holds or could claim now."""
    in_queue = run.evaluations.filter(IN_QUEUE)
    others = in_queue.filter(claimed_until__gt=timezone.now()).exclude(claimed_by=reviewer)
    held = list(others.order_by("claimed_until").values_list("claimed_until", flat=True))
    skipped = in_queue.exclude(pk__in=others.values("pk")).filter(skips__reviewer=reviewer).count()
    left = in_queue.count() - len(held) - skipped
    return Standing(left, skipped, len(held), held[0] if held else None)


_CURSOR = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")
_PLACE_BEHIND = "(evaluation.first_import_id, evaluation.first_line) > (%s, %s)"


# What a list does not show. A row may hold megabytes of it.
_LARGE_COLUMNS = (
    "raw_judge_output",
    "parsed_rubric_scores",
    "structured_model_response",
    "structured_ideal_response",
    "extra",
)


class Page(NamedTuple):
    """Rows of a list; `next_after` is the cursor of the page behind it, empty on the last."""

    rows: list[Evaluation]
    next_after: str


def page(run: Run, *, state: str, after: str = "") -> Page:
    """A page of a run's evaluations in file order. Raises `KeyError` for an unknown state.

    A cursor that is none gives the first page.
    """
    rows = run.evaluations.filter(STATES[state]).select_related("claimed_by", "review__reviewer")
    rows = rows.defer(*_LARGE_COLUMNS)
    rows = _behind(rows.order_by("first_import_id", "first_line"), after)
    found = list(rows[: PAGE_SIZE + 1])
    last = found[PAGE_SIZE - 1] if len(found) > PAGE_SIZE else None
    return Page(found[:PAGE_SIZE], f"{last.first_import_id}-{last.first_line}" if last else "")


def _behind(rows: QuerySet[Evaluation], after: str) -> QuerySet[Evaluation]:
    if not _CURSOR.fullmatch(after):
        return rows
    place = [int(number) for number in after.split("-")]
    # A comparison of rows, which PostgreSQL answers from the index on a place; `OR` it would not.
    return rows.filter(RawSQL(_PLACE_BEHIND, place, output_field=BooleanField()))  # noqa: S611 (constant SQL)
