"""Serve a plan of blind reviews: the queue gives out the planned records first.

The plan sets the share of each cell (`sampling.planned_shares`) and the blind share to 100%. Shares never
decrease while a plan is served, so that the probability of each record stays known (`sampling.draws`).

The first plan of a run is a guess, so only its first part is served. The next plan knows more.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from django.db import transaction

from cognireview.types.runs import Aim
from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database.statements import fetch_all
from reviews.judge.cells import Cell, load_cells
from reviews.judge.planning import AIMS, NARROWEST, PLAN_FILTERS, WIDEST, JudgePlan, plan_reviews, points
from reviews.judge.scope import JudgeScope, read_record_scope
from reviews.models import Run, User
from reviews.queue import allocation
from reviews.records.status import NOT_REQUIRED, QUEUE_STATUSES
from reviews.review import blind_scoring
from reviews.rubric.run_settings import InvalidSettings
from reviews.sampling import draws, planned_shares
from reviews.sampling.planned_shares import CellShare, ReviewPlan, current_plan

# So many blind reviews are served while their number depends on assumed error rates and design effects.
FIRST_PART = 100
# By cell: the records that nobody has decided or scored blind, those among them that are served now, and the
# lowest position of the others.
_OPEN = """
    SELECT needs_human_review, coalesce(aggregated_score, ''), judge_llm_model, judge_prompt_template_path,
           coalesce(model_id, ''), count(*), count(*) FILTER (WHERE is_served),
           coalesce(min(share_position(%(purpose)s, evaluation_id)) FILTER (WHERE NOT is_served), 0)
    FROM evaluation CROSS JOIN LATERAL (
        SELECT is_sampled OR (needs_human_review AND priority >= 0 AND %(has_plan)s) AS is_served
    ) AS queue
    WHERE run_id = %(run)s AND review_id IS NULL AND CASE
        WHEN needs_human_review OR is_sampled
        THEN human_review_status = ANY(%(queue)s) AND NOT is_escalated
        ELSE human_review_status = %(not_required)s
    END AND NOT EXISTS (SELECT FROM blind_scores WHERE blind_scores.evaluation_id = evaluation.id)
    GROUP BY 1, 2, 3, 4, 5
"""


class _Open(NamedTuple):
    """Records of a cell that nobody has decided."""

    records: int
    #: Those that the queue serves now.
    served: int
    #: The lowest position of the others, from 0 to 1. An earlier plan may have served those below it.
    lowest: float


def check_request(target: float, aim: str) -> Aim:
    """Return the aim of a plan. Raises `InvalidSettings` for a target or an aim that no plan can have."""
    problems = {}
    if not NARROWEST <= target <= WIDEST:
        limits = f"{points(NARROWEST)} to {points(WIDEST)}"
        problems["target"] = [f"Enter {limits} percentage points, not {points(target)}."]
    for name in AIMS:
        if aim == name and not problems:
            return name
    if aim not in AIMS:
        problems["aim"] = [f"Choose one of {', '.join(AIMS)}, not {aim!r}."]
    raise InvalidSettings(problems)


def read_filters(run: Run, values: Mapping[str, str]) -> JudgeScope:
    """Return the records of a plan. Raises `InvalidSettings` for a value that no record has."""
    given = {name: value for name in PLAN_FILTERS if (value := values.get(name))}
    read = read_record_scope(run, given)
    if read.problems:
        raise InvalidSettings({name: [problem] for name, problem in read.problems.items()})
    return read.scope


def why_not_blind(run: Run) -> str:
    """Return why the records of a run cannot be reviewed blind, or an empty string."""
    possibility = blind_scoring.blind_feasibility(run)
    return "" if possibility.is_possible else possibility.sentence


@transaction.atomic
def serve_plan(
    *, run_id: int, actor: User | None, target: float, aim: str, filters: Mapping[str, str] | None = None
) -> JudgePlan:
    """Plan the blind reviews of a run, and serve them first. Returns the plan with the reviews served.

    `filters` are values of `planning.PLAN_FILTERS`: the plan is about these records, and others come later.
    Without enough blind reviews to know the error rates, only about `FIRST_PART` reviews are served.
    The order of the queue and the sample change at once, or by a job for a large run. `actor=None` is the
    program itself. Raises `InvalidSettings` if there is nothing to plan.
    """
    if actor:
        check(actor, "configure_run")
    wanted = check_request(target, aim)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    plan = plan_reviews(read_filters(run, filters or {}), target, wanted)
    if obstacle := plan.unknown or why_not_blind(run):
        raise InvalidSettings({"target": [obstacle]})
    plan = _first_part(plan)
    shares = _shares(run, plan)
    before = {name: getattr(run, name) for name in ("blind_share", "sample_share")}
    if run.blind_share < 1:
        blind_scoring.reveal_served(run.evaluations.all(), share=1)
    run.blind_share = 1
    run.sample_share = max(run.sample_share, _average(plan))
    run.review_plan = ReviewPlan(target, wanted, shares, plan.filters).as_json()
    run.save(update_fields=["blind_share", "sample_share", "review_plan"])
    after = {name: getattr(run, name) for name in before}
    events.record(
        "serve plan",
        actor=actor,
        run=run,
        target=target,
        aim=wanted,
        filters=plan.filters,
        more=plan.more,
        before=before,
        after=after,
    )
    draws.request_draw(run=run, actor=actor)
    return plan


@transaction.atomic
def stop_plan(*, run_id: int, actor: User | None) -> Run:
    """Return deferred records to their place in the queue. The shares of blind review and sampling stay."""
    if actor:
        check(actor, "configure_run")
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    plan = current_plan(run)
    if plan is None:
        return run
    planned_shares.end_plan(run)
    run.save(update_fields=["review_plan"])
    events.record("stop plan", actor=actor, run=run, target=plan.target, aim=plan.aim)
    draws.request_draw(run=run, actor=actor)
    return run


def _first_part(plan: JudgePlan) -> JudgePlan:
    """Return a plan of fewer reviews while it is based on assumptions."""
    if not plan.is_design_effect_assumed or plan.more <= FIRST_PART:
        return plan
    part = FIRST_PART / plan.more
    return replace(plan, cells=tuple(replace(one, more=ceil(one.more * part)) for one in plan.cells))


def _shares(run: Run, plan: JudgePlan) -> tuple[CellShare, ...]:
    plan_before = current_plan(run)
    known = {Cell(*one[:5]): one.share for one in plan_before.shares} if plan_before else {}
    needed = {planned.cell: planned.more for planned in plan.cells}
    found = []
    for cell, waiting in _open_records(run).items():
        usual = 0.0 if cell.is_flagged else run.sample_share
        share = known.get(cell, usual)
        more = _needed_in(cell, needed)
        if more > waiting.served:
            left = waiting.records - waiting.served or 1
            share = max(share, estimate_beginning(waiting.lowest, left))
            share = min(1.0, share + (more - waiting.served) / left * (1 - share))
        found.append(CellShare(*cell, round(share, 6)))
    return tuple(found)


def estimate_beginning(lowest: float, records: int) -> float:
    """Return the position from which on records are spread evenly to 1, given the lowest of them.

    The lowest is one gap further on average. Starting there would serve a record too many of each cell.
    """
    return lowest - (1 - lowest) / records


def _needed_in(cell: Cell, needed: Mapping[Cell, int]) -> int:
    """Return the reviews that a cell needs. The draw does not know verdicts that are computed from scores."""
    if cell in needed or cell.verdict:
        return needed.get(cell, 0)
    return sum(more for one, more in needed.items() if Cell(one.is_flagged, "", *one[2:]) == cell)


def _open_records(run: Run) -> dict[Cell, _Open]:
    values: dict[str, int | bool | list[str] | str] = {
        "run": run.pk,
        "queue": [*QUEUE_STATUSES],
        "purpose": allocation.SAMPLE,
        "not_required": NOT_REQUIRED,
        "has_plan": run.review_plan is not None,
    }
    return {Cell(*row[:5]): _Open(*row[5:]) for row in fetch_all(_OPEN, values)}


def _average(plan: JudgePlan) -> float:
    """Return the planned share of the run's unflagged records, for records that later imports add."""
    unflagged = [planned for planned in plan.cells if not planned.cell.is_flagged]
    records = sum(planned.records for planned in unflagged)
    if plan.filters:
        cells = load_cells(JudgeScope(plan.run)).only(lambda cell: not cell.is_flagged)
        records = int(cells.sizes.sum())
    # Several ratings of a record count several times.
    rated = sum(min(planned.records, planned.ratings + planned.more) for planned in unflagged)
    return min(1.0, rated / records) if records else 0.0
