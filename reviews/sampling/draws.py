"""Draw a random sample of unflagged records into the queue, to estimate the errors that flags miss.

In the queue, a sampled record looks like a flagged one. Even its version stays the same. Its line in the
export is unchanged until somebody overrides a score.

Each stratum and verdict contributes the same share, and at least one record. The draw is deterministic: a
second draw adds nothing, a larger share adds records, and a smaller one removes records that nobody has
worked on.
"""

from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count
from procrastinate.contrib.django import app as jobs

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import Import, Run, User
from reviews.queue import allocation, progress
from reviews.records.status import NOT_REQUIRED
from reviews.review import status_changes

JOB = "reviews.tasks.draw_sample"
# Larger runs are sampled by a job, others in the transaction of the caller.
MAX_RECORDS_WITHOUT_JOB = 20_000

# Records to add to the sample or to remove from it. An unflagged record with another status than "Not
# Required" in its file was reviewed before.
_DIFFERING = f"""
    SELECT id, is_sampled FROM (
        SELECT id, is_sampled,
               row_number() OVER (cell ORDER BY {allocation.POSITION_SQL}, id)
               <= ceil(round((%(share)s::float8 * count(*) OVER cell)::numeric, 6)) AS is_wanted
        FROM evaluation
        WHERE run_id = %(run)s AND NOT needs_human_review
          AND (is_sampled OR (human_review_status = %(not_required)s AND review_id IS NULL))
        WINDOW cell AS (PARTITION BY judge_llm_model, judge_prompt_template_path, coalesce(model_id, ''),
                                     coalesce(aggregated_score, ''))
    ) placed
    WHERE is_wanted <> is_sampled
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
def draw_sample(run_id: int, actor: User | None = None) -> DrawResult:
    """Draw the sample of a run, by its sample share. Idempotent. The run may be deleted."""
    # An import adds records, and holds this lock until it ends.
    locks.acquire(Lock.IMPORT)
    run = Run.objects.select_for_update(no_key=True).filter(pk=run_id).first()
    if run is None:
        return DrawResult(0, 0)
    wanted, unwanted = _differing(run)
    result = DrawResult(
        status_changes.sample_records(wanted) if wanted else 0,
        status_changes.unsample_records(unwanted) if unwanted else 0,
    )
    if any(result):
        share = run.sample_share
        events.record("draw sample", actor=actor, run=run, share=share, **result._asdict())
    return result


def _differing(run: Run) -> tuple[list[int], list[int]]:
    """Return the keys of the records to add to the sample, and of those to remove."""
    if not _has_sample(run):
        return [], []
    values: dict[str, int | float | str] = {
        "run": run.pk,
        "share": run.sample_share,
        "purpose": allocation.SAMPLE,
        "not_required": NOT_REQUIRED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERING, values)
        rows = cursor.fetchall()
    return [pk for pk, is_sampled in rows if not is_sampled], [pk for pk, is_sampled in rows if is_sampled]


def request_draw(run: Run, actor: User | None = None) -> None:
    """Draw in the caller's transaction, or by a job for a large run or while an import is running."""
    if not _has_sample(run):
        return
    if progress.run_progress(run).total <= MAX_RECORDS_WITHOUT_JOB and locks.try_acquire(Lock.IMPORT):
        draw_sample(run.pk, actor)
    else:
        jobs.configure_task(JOB).defer(run_id=run.pk)


def _has_sample(run: Run) -> bool:
    """Return whether the run has sampled records, or is to have some."""
    return run.sample_share > 0 or run.evaluations.filter(is_sampled=True).exists()


def draw_after_import(done: Import) -> None:
    """Draw from the records that a finished import added or updated."""
    if done.new + done.updated:
        request_draw(done.target_run, done.created_by)


def count_sampled(run: Run) -> SampleCounts:
    """Count the sample of a run. The cost depends on the size of the sample, not of the run."""
    counts = run.evaluations.filter(is_sampled=True).aggregate(drawn=Count("pk"), decided=Count("review"))
    return SampleCounts(**counts)
