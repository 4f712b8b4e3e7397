"""The shares of a review plan: how many of the records of each cell the queue serves first.

A cell has the records with the same judge, prompt, model and verdict, flagged or not. The share of an
unflagged cell is sampled. The share of a flagged cell keeps its place in the queue, and its other records are
deferred: they have a lower priority. Both choices depend on the position of the record
(`queue.allocation`), and both kinds have the same priority, so that nobody can distinguish them in the queue
until the records of the plan are reviewed.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from cognireview.types.runs import Aim
from reviews.audit import events
from reviews.models import Evaluation, Run
from reviews.models.runs import RunQuerySet
from reviews.queue import allocation
from reviews.records.status import QUEUE_STATUSES
from reviews.review import status_changes
from reviews.review.status_changes import IS_UNTOUCHED

#: The priority of a flagged record that the plan does not need. Leads give 0 (normal) or 1 (first).
DEFERRED, NORMAL = -1, 0

CELL_SQL = """hash_record_extended((judge_llm_model, judge_prompt_template_path, coalesce(model_id, ''),
                                     coalesce(aggregated_score, '')), 0)"""
PLANNED_SQL = """
    SELECT hash_record_extended((judge, template, model, verdict), 0) AS cell, share, bound, candidate
    FROM unnest(%(judges)s::text[], %(templates)s::text[], %(models)s::text[], %(verdicts)s::text[],
                %(shares)s::float8[], %(bounds)s::bytea[], %(candidates)s::bytea[])
        AS planned (judge, template, model, verdict, share, bound, candidate)
"""
_IN_ORDER = "human_review_status = ANY(%(queue)s) AND priority IN (%(normal)s, %(deferred)s)"
_FLAGGED = f"""
    SELECT id, position < coalesce(bound, %(all)s) AS is_wanted, coalesce(share, 1) AS share
    FROM (
        SELECT id, {allocation.POSITION_SQL} AS position, {CELL_SQL} AS cell
        FROM evaluation
        WHERE run_id = %(run)s AND needs_human_review AND {{condition}}
    ) AS flagged LEFT JOIN ({PLANNED_SQL}) AS planned USING (cell)
"""  # noqa: S608 (a constant)
_ORDER = f"""
    UPDATE evaluation
    SET priority = CASE WHEN is_wanted THEN %(normal)s ELSE %(deferred)s END,
        sample_probability = CASE WHEN is_wanted AND share < 1 THEN share END
    FROM ({_FLAGGED.format(condition=_IN_ORDER)}) AS flagged
    WHERE evaluation.id = flagged.id AND NOT is_escalated
      AND (claimed_until IS NULL OR claimed_until <= now())
      AND (priority, sample_probability) IS DISTINCT FROM (
          CASE WHEN is_wanted THEN %(normal)s ELSE %(deferred)s END::smallint,
          CASE WHEN is_wanted AND share < 1 THEN share END
      )
      AND {IS_UNTOUCHED}
"""  # noqa: S608 (a constant)
_REACHED = f"""
    SELECT id, share FROM ({_FLAGGED.format(condition="sample_probability IS NOT NULL")}) AS flagged
    WHERE is_wanted
"""  # noqa: S608 (a constant)


class CellShare(NamedTuple):
    """The share of a cell, from 0 to 1."""

    is_flagged: bool
    #: The judge's verdict, or empty.
    verdict: str
    judge: str
    template: str
    #: Empty for records without a model.
    model: str
    share: float


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """A plan that the queue serves."""

    #: Half the width of the 95% interval to reach, from 0 to 1.
    target: float
    #: The interval to narrow: that of the whole run, or that of each part.
    aim: Aim
    shares: tuple[CellShare, ...]
    #: The judge, prompt and model of its records, by the name of the filter; empty for the whole run.
    filters: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"shares": [share._asdict() for share in self.shares]}


def current_plan(run: Run) -> ReviewPlan | None:
    """Return the plan that the queue of a run serves."""
    kept = run.review_plan
    if not kept or kept.get("is_ended"):
        return None
    shares = tuple(CellShare(**share) for share in kept["shares"])
    return ReviewPlan(kept["target"], kept["aim"], shares, kept["filters"])


def finished_plans() -> RunQuerySet:
    """Return the runs whose plan has no record left to review: a lead plans again, or ends the plan.

    A plan whose records a job has yet to put into the queue is not finished. Three indexes have the records
    that wait, so that the many deferred ones are not read.
    """
    waiting = Evaluation.objects.filter(
        run=OuterRef("pk"), human_review_status__in=QUEUE_STATUSES, is_escalated=False, priority__gte=NORMAL
    )
    served = Run.objects.filter(review_plan__isnull=False, review_plan__has_key="is_drawn")
    return served.exclude(review_plan__has_key="is_ended").filter(
        ~Exists(waiting.filter(claimed_by=None, assigned_to=None)),
        ~Exists(waiting.filter(claimed_by=None, assigned_to__isnull=False)),
        ~Exists(waiting.filter(claimed_by__isnull=False)),
    )


@transaction.atomic
def report_finished_plans() -> int:
    """Record an event for each plan whose records are reviewed, once. Returns the number of events."""
    found = finished_plans().filter(archived_at=None, deletion_requested_at=None)
    runs = found.exclude(review_plan__has_key="is_reported").select_for_update(no_key=True, skip_locked=True)
    for run in runs:
        plan = run.review_plan or {}
        run.review_plan = plan | {"is_reported": True}
        run.save(update_fields=["review_plan"])
        events.record("plan reviewed", actor=None, run=run, target=plan["target"], aim=plan["aim"])
    return len(runs)


def end_plan(run: Run) -> None:
    """End the plan of a run that the caller saves. The next draw returns deferred records to their place."""
    if run.review_plan is not None:
        run.review_plan = run.review_plan | {"is_ended": True}


def planned_values(
    run: Run, *, is_flagged: bool, candidate: Callable[[float], float] = lambda share: share
) -> Mapping[str, Any]:
    """Return the parameters of `PLANNED_SQL`. `candidate` gives the larger share to look at, for a share."""
    plan = current_plan(run)
    cells = [one for one in plan.shares if one.is_flagged == is_flagged] if plan else []
    return {
        "judges": [one.judge for one in cells],
        "templates": [one.template for one in cells],
        "models": [one.model for one in cells],
        "verdicts": [one.verdict for one in cells],
        "shares": [one.share for one in cells],
        "bounds": [allocation.bound(one.share) for one in cells],
        "candidates": [allocation.bound(candidate(one.share)) for one in cells],
    }


def has_order(run: Run) -> bool:
    """Return whether a plan orders the flagged records. An ended plan does so until the next draw."""
    return run.review_plan is not None


def order_flagged(run: Run) -> int:
    """Defer the flagged records that the plan does not need, and return others to their place in the queue.

    Without a plan, none is deferred. Records that somebody has worked on, and those to which a lead gave
    priority, stay. Returns the number of records that have changed.
    """
    if not has_order(run):
        return 0
    values = {
        **planned_values(run, is_flagged=True),
        "run": run.pk,
        "purpose": allocation.SAMPLE,
        "all": allocation.bound(1),
        "queue": [*QUEUE_STATUSES],
        "normal": NORMAL,
        "deferred": DEFERRED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REACHED, values)
        reached = dict(cursor.fetchall())
        if reached:
            status_changes.change_probabilities(reached)
        cursor.execute(_ORDER, values)
        changed = int(cursor.rowcount)
    if run.review_plan is not None:
        run.review_plan = None if current_plan(run) is None else run.review_plan | {"is_drawn": True}
        run.save(update_fields=["review_plan"])
    return changed
