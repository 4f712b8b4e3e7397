"""Count the records of a run by state. All counts on pages, in the API, metrics and webhooks come from here.

docs/lifecycle.md defines the states, and `models.evaluations` has them as conditions. The cost does not
depend on the size of a run: a trigger counts the statuses (`RunCount`), and claimed, escalated and sampled
records are few and have indexes of their own.
"""

import datetime as dt
from typing import Any, NamedTuple

from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.utils import timezone

from reviews.database.statements import fetch_all, fetch_value, prepared_statements
from reviews.models import IndependentReview, Reveal, Run, RunCount, User
from reviews.queue.claims import EVERYTHING
from reviews.records.status import COUNTED_AS_DONE, NOT_REQUIRED, QUEUE_STATUSES


class Progress(NamedTuple):
    """Numbers of records in a run. Each record is in one of the five states."""

    #: All records: the sum of the five states.
    total: int
    #: In the queue without a claim. A prefetched record counts as waiting.
    waiting: int
    #: In the queue, and somebody works on them.
    claimed: int
    #: In the queue, and a lead answers, also while the lead has claimed them.
    escalated: int
    #: With a decision, also one that agrees with the judge about a random sample.
    done: int
    #: Neither flagged nor in a random sample.
    not_required: int
    #: Records of random samples. They are in the queue or done, so they are counted above, too.
    sampled: int = 0

    @property
    def left(self) -> int:
        """Records in the queue."""
        return self.waiting + self.claimed + self.escalated

    @property
    def to_review(self) -> int:
        """Records that people review: those in the queue and those that are done."""
        return self.left + self.done


# The order of runs in lists.
NEWEST_RUNS = ("-created_at", "-pk")
# The keys and the progress of runs. Statuses are constants, as Python writes tuples: with parameters, a plan
# for any statuses can look so expensive that PostgreSQL plans the statement each time for these.
_PROGRESS = f"""
    SELECT run.id, counted.total, counted.queue - claimed.count - escalated.count AS waiting,
           claimed.count AS claimed, escalated.count AS escalated, counted.done, counted.not_required,
           sampled.count AS sampled
    FROM run
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(evaluations), 0)::bigint AS total,
               coalesce(sum(evaluations) FILTER (WHERE status IN {QUEUE_STATUSES}), 0)::bigint AS queue,
               coalesce(sum(evaluations) FILTER (WHERE status IN {COUNTED_AS_DONE}), 0)::bigint AS done,
               coalesce(sum(evaluations) FILTER (WHERE status = '{NOT_REQUIRED}'), 0)::bigint AS not_required
        FROM run_count WHERE run_count.run_id = run.id
    ) counted
    CROSS JOIN LATERAL (
        SELECT count(*) FROM evaluation e
        WHERE e.run_id = run.id AND e.claimed_by_id IS NOT NULL AND e.claimed_until > now()
          AND e.human_review_status IN {QUEUE_STATUSES} AND NOT e.is_escalated AND NOT e.claim_is_prefetched
    ) claimed
    CROSS JOIN LATERAL (
        SELECT count(*) FROM evaluation e
        WHERE e.run_id = run.id AND e.is_escalated AND e.human_review_status IN {QUEUE_STATUSES}
    ) escalated
    CROSS JOIN LATERAL (
        SELECT count(*) FROM evaluation e WHERE e.run_id = run.id AND e.is_sampled
    ) sampled
"""  # noqa: S608 (constants)
_PROGRESS_OF_RUNS = f"{_PROGRESS} WHERE run.id = ANY(%(runs)s)"
# That of one run, whose plan PostgreSQL keeps: it takes longer to plan than to execute.
PROGRESS_OF_RUN = f"{_PROGRESS} WHERE run.id = %(run)s"


def run_progress(run: Run) -> Progress:
    return _progress(PROGRESS_OF_RUN, {"run": run.pk})[run.pk]


def number_of_records() -> Combinable:
    """Return the annotation of runs with the number of their records."""
    counts = RunCount.objects.filter(run=OuterRef("pk")).order_by().values("run")
    total = Subquery(counts.values(total=Sum("evaluations")), output_field=IntegerField())
    return Coalesce(total, 0)


def count_records(run: Run) -> int:
    statement = "SELECT coalesce(sum(evaluations), 0) FROM run_count WHERE run_id = %s"
    return int(fetch_value(statement, [run.pk]))


def all_progress(runs: QuerySet[Run]) -> list[tuple[Run, Progress]]:
    """Return all of these runs, newest first, each with its counts."""
    found = list(runs.order_by(*NEWEST_RUNS))
    progress = _progress(_PROGRESS_OF_RUNS, {"runs": [run.pk for run in found]})
    return [(run, progress[run.pk]) for run in found]


@prepared_statements()
def _progress(statement: str, values: dict[str, Any]) -> dict[int, Progress]:
    return {pk: Progress(*numbers) for pk, *numbers in fetch_all(statement, values)}


class ReviewerProgress(NamedTuple):
    """The records of a run's queue as one reviewer sees them. Each record counts once."""

    #: Records that the reviewer has claimed or can claim.
    left: int
    skipped_by_you: int
    claimed_by_others: int
    assigned_to_others: int
    escalated: int
    #: When the first claim of others expires.
    next_expiry_at: dt.datetime | None
    #: Records that wait for somebody else's independent review, because the reviewer has submitted one or has
    #: read one.
    reviewed_by_you: int = 0


def reviewer_progress(*, run: Run, reviewer: User, condition: Q = EVERYTHING) -> ReviewerProgress:
    """Count the queue of a run for a reviewer, or the records of the queue that fulfil a condition.

    This counts row by row, so it is for the page of the queue, not for the page of each record.
    """
    queue = run.evaluations.in_queue().filter(condition)
    in_queue = queue.count() if condition else run_progress(run).left
    escalated = queue.filter(is_escalated=True).count()
    not_escalated = queue.filter(is_escalated=False)
    others = not_escalated.claimed().exclude(claimed_by=reviewer).order_by("claimed_until")
    expiries = list(others.values_list("claimed_until", flat=True))
    # Two queries, because records without a claim and records with an expired one have different indexes.
    unclaimed = [
        not_escalated.filter(claimed_by=None),
        not_escalated.filter(claimed_by__isnull=False, claimed_until__lte=timezone.now()),
    ]
    can_claim = Q(assigned_to=None) | Q(assigned_to=reviewer)
    assigned = sum(rows.exclude(can_claim).count() for rows in unclaimed)
    skipped = sum(rows.filter(can_claim, skips__reviewer=reviewer).count() for rows in unclaimed)
    submitted = IndependentReview.objects.filter(reviewer=reviewer, is_open=True)
    read = Reveal.objects.filter(reviewer=reviewer, how=Reveal.How.INDEPENDENT_REVIEWS)
    # One list of few records: for a condition on two lists, PostgreSQL would read the whole queue.
    known = submitted.values("evaluation").union(read.values("evaluation"))
    reviewed = sum(rows.filter(can_claim, pk__in=known).count() for rows in unclaimed)
    left = in_queue - escalated - len(expiries) - assigned - skipped - reviewed
    next_expiry_at = expiries[0] if expiries else None
    return ReviewerProgress(left, skipped, len(expiries), assigned, escalated, next_expiry_at, reviewed)


def waiting_for_others(run: Run) -> int:
    """Count the records that wait for further independent reviews."""
    given = IndependentReview.objects.filter(
        is_open=True, evaluation__run=run, evaluation__is_escalated=False
    )
    return given.values("evaluation").distinct().count()
