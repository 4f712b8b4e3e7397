"""How many evaluations of a run are in which state: the one place that counts come from.

They cost the same at any size: statuses are counted as they change (`RunCount`), and what is held or
escalated is little and has an index of its own.
"""

import datetime as dt
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from reviews.models import Escalation, IndependentReview, Reveal, Run, User
from reviews.queue.claims import EVERYTHING
from reviews.records.status import DONE_STATUSES, NOT_REQUIRED, QUEUE_STATUSES


class Progress(NamedTuple):
    """Counts of evaluations. `waiting`, `claimed` and `escalated` make up the queue."""

    total: int
    waiting: int
    claimed: int
    escalated: int
    done: int
    not_required: int

    @property
    def left(self) -> int:
        """What nobody has decided yet."""
        return self.waiting + self.claimed + self.escalated

    @property
    def to_review(self) -> int:
        """What people are asked to decide, done or not."""
        return self.left + self.done


_PROGRESS = """
    SELECT run.id, counted.total, counted.queue - held.count - escalated.count, held.count, escalated.count,
           counted.done, counted.not_required
    FROM run
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(evaluations), 0)::bigint AS total,
               coalesce(sum(evaluations) FILTER (WHERE status = ANY(%(queue)s)), 0)::bigint AS queue,
               coalesce(sum(evaluations) FILTER (WHERE status = ANY(%(done)s)), 0)::bigint AS done,
               coalesce(sum(evaluations) FILTER (WHERE status = %(not_required)s), 0)::bigint AS not_required
        FROM run_count WHERE run_count.run_id = run.id
    ) counted
    CROSS JOIN LATERAL (
        SELECT count(*) FROM evaluation e
        WHERE e.run_id = run.id AND e.claimed_by_id IS NOT NULL AND e.claimed_until > now()
          AND e.human_review_status = ANY(%(queue)s) AND NOT e.is_escalated
    ) held
    CROSS JOIN LATERAL (
        SELECT count(*) FROM escalation x JOIN evaluation e ON e.id = x.evaluation_id
        WHERE x.run_id = run.id AND x.outcome = 'open' AND e.human_review_status = ANY(%(queue)s)
    ) escalated
    WHERE %(run)s::bigint IS NULL OR run.id = %(run)s
"""


def run_progress(run: Run) -> Progress:
    return _progress(run)[run.pk]


def all_progress() -> list[tuple[Run, Progress]]:
    """All runs, newest first, each with its counts."""
    runs = list(Run.objects.order_by("-created_at", "-pk"))
    progress = _progress(None)
    return [(run, progress[run.pk]) for run in runs]


def _progress(run: Run | None) -> dict[int, Progress]:
    values: dict[str, Any] = {
        "queue": list(QUEUE_STATUSES),
        "done": list(DONE_STATUSES),
        "not_required": NOT_REQUIRED,
        "run": run.pk if run else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PROGRESS, values)
        return {pk: Progress(*numbers) for pk, *numbers in cursor.fetchall()}


class ReviewerProgress(NamedTuple):
    """A run's queue as one reviewer finds it: what is left for them, and why the rest is not theirs now.

    `left` is what they hold or could claim; a record is counted once. `next_free_at` is when the first
    claim of others ends. `with_independent_review` are those on which they gave an independent review, or
    read those of others, and that wait for somebody else's.
    """

    left: int
    skipped_by_you: int
    held_by_others: int
    assigned_to_others: int
    escalated: int
    next_free_at: dt.datetime | None
    reviewed_by_you: int = 0


def reviewer_progress(*, run: Run, reviewer: User, condition: Q = EVERYTHING) -> ReviewerProgress:
    """Of the whole queue, or of what `condition` (on the evaluation) leaves of it.

    What is assigned to others, and whatever a condition leaves, is counted row by row: a matter for the
    page of the queue, not for each record.
    """
    queue = run.evaluations.in_queue().filter(condition)
    in_queue = queue.count() if condition else run_progress(run).left
    escalated = queue.filter(escalations__outcome=Escalation.Outcome.OPEN).count()
    open_to_all = queue.filter(is_escalated=False)
    others = open_to_all.claimed().exclude(claimed_by=reviewer)
    ends = list(others.order_by("claimed_until").values_list("claimed_until", flat=True))
    # Two parts, each with an index of its own: what nobody claimed, and what a claim ran out on.
    free = [
        open_to_all.filter(claimed_by=None),
        open_to_all.filter(claimed_by__isnull=False, claimed_until__lte=timezone.now()),
    ]
    mine_or_nobodys = Q(assigned_to=None) | Q(assigned_to=reviewer)
    assigned = sum(part.exclude(mine_or_nobodys).count() for part in free)
    skipped = sum(part.filter(mine_or_nobodys, skips__reviewer=reviewer).count() for part in free)
    given = Q(pk__in=IndependentReview.objects.filter(reviewer=reviewer, is_open=True).values("evaluation"))
    given |= Q(
        pk__in=Reveal.objects.filter(reviewer=reviewer, how=Reveal.How.INDEPENDENT_REVIEWS).values(
            "evaluation"
        )
    )
    reviewed_by_you = sum(part.filter(mine_or_nobodys, given).count() for part in free)
    left = in_queue - escalated - len(ends) - assigned - skipped - reviewed_by_you
    next_free_at = ends[0] if ends else None
    return ReviewerProgress(left, skipped, len(ends), assigned, escalated, next_free_at, reviewed_by_you)
