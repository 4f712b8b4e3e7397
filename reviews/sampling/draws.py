"""Draw a random sample of unflagged records into the queue, to estimate the errors that flags miss.

In the queue, a sampled record looks like a flagged one. Even its version stays the same. Its line in the
export is unchanged until somebody overrides a score.

A cell has the unflagged records with the same judge, prompt, model and verdict. The first import that brings
records to a cell contributes a fixed share of them, and at least one. Later imports contribute every record
whose position (`queue.allocation`) is below the share. So the records of a smaller share are always among
those of a larger one, and the draw is deterministic: a second one adds nothing, a larger share adds records,
and a smaller one removes records that nobody has worked on.

Each sampled record has the probability of being drawn: that of the largest share since somebody first worked
on it. Weighted by its inverse, the reviewed records represent all records that a draw could take, however
often the share has changed. If a larger share is reduced before its records are reviewed, `reduced_shares`
corrects the probabilities.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from statistics import mode
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count
from procrastinate.contrib.django import app as jobs

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import fetch_all
from reviews.models import Import, Run, User
from reviews.queue import allocation, progress
from reviews.records.status import NOT_REQUIRED
from reviews.review import status_changes
from reviews.sampling import planned_shares

_NEGLIGIBLE = 1e-9
# The added records that are looked at on each side of a rated record.
_NEIGHBOURS = 3
# The first probability is that at the lock-in: blind ratings keep the ratio of both when it is raised.
_RATED = """
    SELECT id, sample_probability, sample_probability * (
        SELECT min(blind_scores.probability / rating.probability)
        FROM rating JOIN blind_scores ON blind_scores.id = rating.blind_scores_id
        WHERE rating.evaluation_id = evaluation.id
    )
    FROM evaluation
    WHERE run_id = %(run)s AND is_sampled AND sample_probability IS NOT NULL
    ORDER BY length(task_id), task_id, id
"""


class Difference(NamedTuple):
    """A difference between the sample as it is and as it is wanted."""

    record: int
    is_sampled: bool
    is_wanted: bool
    #: The probability of being drawn now, in (0, 1] if it is wanted.
    probability: float
    #: A number for the cell of the record.
    cell: int
    #: The key of the import of the record.
    source: int
    #: The largest share of the cell and the import, from 0 to 1, that does not contain the record.
    outside: float

    @property
    def group(self) -> tuple[int, int]:
        """The records that are drawn together: those of a cell and an import."""
        return self.cell, self.source


class _Sampled(NamedTuple):
    """A record of the sample, before others are removed."""

    difference: Difference
    #: The place of the record in the order of the queue.
    place: int
    probability: float
    #: The probability when somebody scored it blind; None for other records.
    first: float | None


def correct_probabilities(run: Run, differences: Iterable[Difference]) -> None:
    """Correct the probabilities of rated records before others are removed from the sample.

    A larger share raises the probability of records that were rated already, because the records that it adds
    represent the same part of the run. If a smaller share removes some of these before anybody reviews them,
    the rated records represent more again.

    The records that stay rated were drawn with the larger share where reviewers have reached the added
    records, and with the smaller one elsewhere. The queue gives out records by task. So for each rated
    record, the added records next to it in this order show the part of them that was reached.
    """
    found = {one.record: one for one in differences if one.is_sampled}
    reduced = {one.group for one in found.values() if not one.is_wanted}
    groups: dict[tuple[int, int], list[_Sampled]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_RATED, {"run": run.pk})
        for place, (key, *probabilities) in enumerate(cursor):
            if key in found and found[key].group in reduced:
                groups[found[key].group].append(_Sampled(found[key], place, *probabilities))
    changed = dict(pair for records in groups.values() for pair in _corrected(records))
    if changed:
        status_changes.reduce_probabilities(changed)


def _corrected(records: Sequence[_Sampled]) -> Iterator[tuple[int, float]]:
    """Yield the rated records of a group whose probability changes, given in the order of the queue."""
    removed = [one.probability for one in records if one.first is None and not one.difference.is_wanted]
    if not removed:
        return
    before = mode(removed)
    for one in records:
        base = max(one.first or 1.0, one.difference.probability)
        if base < before - _NEGLIGIBLE:
            added = [other for other in records if base <= other.difference.outside + _NEGLIGIBLE < before]
            left = 1 - _part_reached(one, added)
            if left:
                yield one.difference.record, 1 / (1 / one.probability + left * (1 / base - 1 / before))


def _part_reached(rated: _Sampled, added: Sequence[_Sampled]) -> float:
    """Return the part of the added records next to a rated one that somebody scored blind."""
    at = bisect(added, rated.place, key=lambda one: one.place)
    nearest = added[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
    return sum(one.first is not None for one in nearest) / len(nearest) if nearest else 1.0


JOB = "reviews.tasks.draw_sample"
# Larger runs are sampled by a job, others in the transaction of the caller.
MAX_RECORDS_WITHOUT_JOB = 20_000
# Smaller batches are sorted whole.
_FEWEST_TO_PRESELECT = 1_000

# The position from 0 to 1.
_POSITION = "('x' || left(encode(position, 'hex'), 12))::bit(48)::bigint / (2 ^ 48)::float8"
# The differences between the sample and the wanted one: records to add, to remove, and with another
# probability. Records above the bound `candidate` are not sorted: sorting a large run takes most of the time.
_DIFFERING = f"""
    WITH frame AS MATERIALIZED (
        SELECT id, is_sampled, sample_probability, first_import_id, {allocation.POSITION_SQL} AS position,
               {planned_shares.CELL_SQL} AS cell
        FROM evaluation
        WHERE run_id = %(run)s AND NOT needs_human_review
          AND (is_sampled OR (human_review_status = %(not_required)s AND review_id IS NULL))
    ), planned AS ({planned_shares.PLANNED_SQL}
    ), batch AS (
        SELECT cell, first_import_id, records, coalesce(share, %(share)s::float8) AS share,
               coalesce(bound, %(bound)s) AS bound, coalesce(candidate, %(candidate)s) AS candidate,
               row_number() OVER (PARTITION BY cell ORDER BY sequence) = 1 AS is_first
        FROM (SELECT cell, first_import_id, count(*) AS records FROM frame GROUP BY 1, 2) AS counted
        JOIN import ON import.id = first_import_id
        LEFT JOIN planned USING (cell)
    ), placed AS (
        SELECT *, ceil(round((share * records)::numeric, 6)) AS wanted,
               row_number() OVER (PARTITION BY cell, first_import_id ORDER BY position, id) AS place
        FROM frame JOIN batch USING (cell, first_import_id)
        WHERE is_sampled OR position < candidate OR records < {_FEWEST_TO_PRESELECT}
    ), drawn AS (
        SELECT id, is_sampled, sample_probability,
               CASE WHEN is_first THEN place <= wanted ELSE position < bound END AS is_wanted,
               CASE WHEN is_first THEN wanted / records ELSE share END::float8 AS probability,
               cell, first_import_id,
               CASE WHEN is_first THEN (place - 1)::float8 / records ELSE {_POSITION} END AS outside
        FROM placed
    )
    SELECT id, is_sampled, is_wanted, probability, cell, first_import_id, outside FROM drawn
    WHERE is_wanted <> is_sampled OR (is_wanted AND sample_probability IS DISTINCT FROM probability)
"""  # noqa: S608 (a constant)


class DrawResult(NamedTuple):
    """Numbers of records that a draw changed."""

    #: Records added to the queue.
    drawn: int
    #: Records removed from the queue.
    put_back: int


class SampleCounts(NamedTuple):
    """Numbers of records in the sample of a run."""

    #: All sampled records.
    drawn: int
    #: Sampled records with a current decision.
    decided: int


@transaction.atomic
def draw_sample(*, run_id: int, actor: User | None = None) -> DrawResult:
    """Draw the sample of a run, by its sample share. Idempotent. The run may be deleted."""
    # An import adds records, and holds this lock until it ends.
    locks.acquire(Lock.IMPORT)
    run = Run.objects.select_for_update(no_key=True).filter(pk=run_id).first()
    if run is None:
        return DrawResult(0, 0)
    planned_shares.order_flagged(run)
    differences = _differing(run)
    removed = [one.record for one in differences if not one.is_wanted]
    kept = {one.record: one.probability for one in differences if one.is_wanted and one.is_sampled}
    added = {one.record: one.probability for one in differences if not one.is_sampled}
    if removed:
        correct_probabilities(run, differences)
    if kept:
        status_changes.change_probabilities(kept)
    result = DrawResult(
        status_changes.sample_records(added) if added else 0,
        status_changes.unsample_records(removed) if removed else 0,
    )
    if any(result):
        share = run.sample_share
        events.record("draw sample", actor=actor, run=run, share=share, **result._asdict())
    return result


def _differing(run: Run) -> list[Difference]:
    if not _has_sample(run):
        return []
    values = {
        **planned_shares.planned_values(run, is_flagged=False, candidate=_preselected),
        "run": run.pk,
        "share": run.sample_share,
        "bound": allocation.bound(run.sample_share),
        "candidate": allocation.bound(_preselected(run.sample_share)),
        "purpose": allocation.SAMPLE,
        "not_required": NOT_REQUIRED,
    }
    return [Difference(*row) for row in fetch_all(_DIFFERING, values)]


def _preselected(share: float) -> float:
    """Return a share that contains, but in one of 10^8 cases, the first `share` of a batch by position."""
    expected = share * _FEWEST_TO_PRESELECT
    return min(1.0, (expected + 6 * sqrt(expected) + 20) / _FEWEST_TO_PRESELECT)


def request_draw(*, run: Run, actor: User | None = None) -> None:
    """Draw in the caller's transaction, or by a job for a large run or while an import is running."""
    if not (_has_sample(run) or planned_shares.has_order(run)):
        return
    if progress.run_progress(run).total <= MAX_RECORDS_WITHOUT_JOB and locks.try_acquire(Lock.IMPORT):
        draw_sample(run_id=run.pk, actor=actor)
    else:
        jobs.configure_task(JOB).defer(run_id=run.pk)


def _has_sample(run: Run) -> bool:
    """Return whether the run has sampled records, or is to have some."""
    return run.sample_share > 0 or run.evaluations.filter(is_sampled=True).exists()


def draw_after_import(done: Import) -> None:
    """Draw from the records that a finished import added or updated."""
    if done.new + done.updated:
        request_draw(run=done.target_run, actor=done.created_by)


def count_sampled(run: Run) -> SampleCounts:
    """Count the sample of a run. The cost depends on the size of the sample, not of the run."""
    counts = run.evaluations.filter(is_sampled=True).aggregate(drawn=Count("pk"), decided=Count("review"))
    return SampleCounts(**counts)
