"""A reviewer's own work: records to continue, decisions of today and this week, and records left.

Each query reads rows of one person through an index, and counts at most `MAX_COUNTED` of them.
"""

import datetime as dt
from collections.abc import Collection
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet

from reviews.accounts.permissions import can_revise
from reviews.days import midnight
from reviews.models import Draft, Evaluation, FileConflict, Review, Run, Skip, User
from reviews.models.evaluations import CLAIMED, IN_QUEUE, LARGE_COLUMNS
from reviews.records.status import QUEUE_STATUSES

MAX_COUNTED = 1_000
# Runs that the reader may see, as a query or loaded.
Runs = QuerySet[Run] | Collection[Run]
# Records to continue that a page lists.
MAX_LISTED = 5


class Unfinished(NamedTuple):
    """A record that the reviewer has claimed, or of which they have a draft."""

    evaluation: Evaluation
    #: When the draft was saved; None without a draft.
    drafted_at: dt.datetime | None
    #: Whether the reviewer has the record claimed.
    is_claimed: bool = False
    #: Whether the draft changes a decision of the reviewer.
    is_revision: bool = False


class DoneCounts(NamedTuple):
    """Records that the reviewer decided. A record counts once, and not after an undo."""

    today: int
    this_week: int


class WaitingCounts(NamedTuple):
    """Records in the queue that wait for the reviewer, each up to `MAX_COUNTED`."""

    assigned: int
    skipped: int


def unfinished_records(reviewer: User, runs: Runs) -> list[Unfinished]:
    """Return the records of these runs that the reviewer can continue: claimed ones first, then by draft."""
    mine = Evaluation.objects.filter(CLAIMED & IN_QUEUE, claimed_by=reviewer, claim_is_prefetched=False)
    claimed = list(_shown(mine.filter(run__in=runs)).order_by("-claimed_until")[: 2 * MAX_LISTED])
    saved = Draft.objects.filter(reviewer=reviewer).order_by("-saved_at")
    in_reach = saved.filter(evaluation__run__in=runs, evaluation__is_escalated=False)[: 4 * MAX_LISTED]
    drafts = {draft.evaluation_id: draft.saved_at for draft in in_reach.only("evaluation", "saved_at")}
    found = [Unfinished(one, drafts.pop(one.pk, None), is_claimed=True) for one in claimed]
    records = _shown(Evaluation.objects.all()).in_bulk(drafts)
    for pk, saved_at in drafts.items():
        record = records[pk]
        is_revision = record.is_decided and can_revise(reviewer, record)
        if is_revision or (record.in_queue and _is_free_for(reviewer, record)):
            found.append(Unfinished(record, saved_at, is_revision=is_revision))
    return found


def done_counts(reviewer: User, now: dt.datetime) -> DoneCounts:
    """Count the reviewer's decisions since midnight and since Monday, in the time zone of `now`."""
    today = midnight(now.date(), now.tzinfo or dt.UTC)
    monday = today - dt.timedelta(days=today.weekday())
    made = Review.objects.by_reviewers().filter(
        reviewer=reviewer, submitted_at__gte=monday, withdrawal__isnull=True
    )
    counted = made.aggregate(
        today=Count("evaluation", distinct=True, filter=Q(submitted_at__gte=today)),
        this_week=Count("evaluation", distinct=True),
    )
    return DoneCounts(**counted)


def waiting_counts(reviewer: User, runs: Runs) -> WaitingCounts:
    """Count the records of these runs that are assigned to the reviewer, and those they have skipped.

    Records that were assigned to somebody else after the skip do not come back to the reviewer.
    """
    assigned = Evaluation.objects.filter(IN_QUEUE, assigned_to=reviewer, is_escalated=False, run__in=runs)
    skipped = Skip.objects.filter(
        Q(evaluation__assigned_to=None) | Q(evaluation__assigned_to=reviewer),
        reviewer=reviewer,
        evaluation__human_review_status__in=QUEUE_STATUSES,
        evaluation__is_escalated=False,
        evaluation__run__in=runs,
    )
    return WaitingCounts(assigned[:MAX_COUNTED].count(), skipped[:MAX_COUNTED].count())


def latest_run(reviewer: User, runs: Runs) -> Run | None:
    """Return the run of the reviewer's latest decision in these runs."""
    latest = Review.objects.filter(reviewer=reviewer, run__in=runs).select_related("run").order_by("-pk")
    made = latest.only("run").first()
    return made.run if made else None


def open_conflicts(runs: Runs) -> dict[int, int]:
    """Count the open conflicts with files by the keys of these runs."""
    waiting = FileConflict.objects.filter(outcome=FileConflict.Outcome.OPEN, run__in=runs)
    return dict(waiting.values_list("run").annotate(Count("pk")))


def _shown(records: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    return records.select_related("run", "review").defer(*LARGE_COLUMNS)


def _is_free_for(reviewer: User, record: Evaluation) -> bool:
    is_others = record.is_claimed and record.claimed_by_id != reviewer.pk
    return not is_others and record.assigned_to_id in {None, reviewer.pk}
