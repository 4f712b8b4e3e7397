"""Records that nobody flagged, drawn to be reviewed all the same: what the flags miss is told by them alone.

A drawn record is in the queue, where nothing tells it from a flagged one: not even its version, which a draw
leaves as it is. Its line stays as it came until
somebody corrects it. Of each stratum and verdict the same share is drawn, at least one record, and always the
same ones: a second draw adds nothing, a larger share adds to what is there, and a smaller one puts back what
nobody has begun with.
"""

from typing import NamedTuple

from django.db import connection, transaction
from procrastinate.contrib.django import app as jobs

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import Import, Run, User
from reviews.queue import allocation, progress
from reviews.records.status import NOT_REQUIRED, TRANSITIONS

JOB = "reviews.tasks.draw_sample"
# In runs of no more records than this, the draw is part of what calls for it.
AT_ONCE = 20_000
_DRAWN = TRANSITIONS["sample", NOT_REQUIRED]

# What is drawn and should not be, and what should be and is not. A record without a flag that has another
# status in its file was seen by people already.
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
_DRAW = """
    UPDATE evaluation SET is_sampled = true, human_review_status = %(drawn)s
    WHERE id = ANY(%(keys)s) AND human_review_status = %(not_required)s AND review_id IS NULL
"""
# Whoever is at a record keeps it. What they leave of it is looked at behind the lock.
_LOCK_FREE = """
    SELECT id FROM evaluation
    WHERE id = ANY(%(keys)s) AND human_review_status = %(drawn)s AND review_id IS NULL AND NOT is_escalated
      AND (claimed_until IS NULL OR claimed_until <= now())
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
"""
_PUT_BACK = """
    UPDATE evaluation SET is_sampled = false, human_review_status = %(put_back)s,
                          claimed_by_id = NULL, claimed_until = NULL
    WHERE id = ANY(%(keys)s)
      AND NOT EXISTS (SELECT FROM review WHERE review.evaluation_id = evaluation.id)
      AND NOT EXISTS (SELECT FROM draft WHERE draft.evaluation_id = evaluation.id)
"""
_STATE = """
    SELECT count(*), count(*) FILTER (WHERE review_id IS NOT NULL) FROM evaluation
    WHERE run_id = %s AND is_sampled
"""


class DrawResult(NamedTuple):
    """How many records a draw put into the queue, and how many out of it."""

    drawn: int
    put_back: int


class SampleCounts(NamedTuple):
    """How many records of a run are drawn, and how many of those have a decision in force."""

    drawn: int
    decided: int


@transaction.atomic
def draw_sample(run_id: int, actor: User | None = None) -> DrawResult:
    """Draw what the run's share asks for. Twice is once."""
    # An import changes which records there are, and keeps them locked until it ends.
    locks.acquire(Lock.IMPORT)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    wanted, unwanted = _differing(run)
    drawn = DrawResult(_draw(wanted) if wanted else 0, _put_back(unwanted) if unwanted else 0)
    if any(drawn):
        events.record(
            "draw sample",
            actor=actor,
            run=run,
            share=run.sample_share,
            drawn=drawn.drawn,
            put_back=drawn.put_back,
        )
    return drawn


def _differing(run: Run) -> tuple[list[int], list[int]]:
    """Keys of records to draw, and of records to put back."""
    if not _concerns(run):
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


def _draw(keys: list[int]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_DRAW, {"keys": keys, "drawn": _DRAWN, "not_required": NOT_REQUIRED})
        return int(cursor.rowcount)


def _put_back(keys: list[int]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_FREE, {"keys": keys, "drawn": _DRAWN})
        free = [pk for (pk,) in cursor.fetchall()]
        cursor.execute(_PUT_BACK, {"keys": free, "put_back": TRANSITIONS["put back", _DRAWN]})
        return int(cursor.rowcount)


def request_draw(run: Run, actor: User | None = None) -> None:
    """Draw now, in the transaction of the caller; or by a job, where that takes long or has to wait."""
    if not _concerns(run):
        return
    if progress.run_progress(run).total <= AT_ONCE and locks.try_acquire(Lock.IMPORT):
        draw_sample(run.pk, actor)
    else:
        jobs.configure_task(JOB).defer(run_id=run.pk)


def _concerns(run: Run) -> bool:
    """Whether records of the run are drawn, or are to be."""
    return run.sample_share > 0 or run.evaluations.filter(is_sampled=True).exists()


def draw_after_import(done: Import) -> None:
    """Draw of what an import brought, at its end."""
    if done.new + done.updated:
        request_draw(done.run, done.created_by)


def count_sampled(run: Run) -> SampleCounts:
    """Of the draws so far. Costs by what is drawn."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [run.pk])
        return SampleCounts(*(cursor.fetchone() or (0, 0)))
