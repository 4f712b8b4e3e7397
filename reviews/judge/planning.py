"""Plan the blind reviews that narrow the interval of the judge's accuracy to a target.

The accuracy is the share of records whose verdict by the judge is the one that a reviewer gives without
seeing it. `statistics.planning` computes the blind ratings that the target needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from cognireview.types.encoding import members
from cognireview.types.estimates import Basis, Estimate, Part
from cognireview.types.runs import Aim, PlannedPart, ReviewPlan
from reviews.database.statements import fetch_all
from reviews.judge.cells import Cell, load_cells
from reviews.judge.loading import why_not_counted
from reviews.judge.rated_run import WHY_NO_VERDICT, RatedRun, combine
from reviews.judge.ratings import RatingKind, load_ratings, load_verdicts
from reviews.judge.scope import NO_MODEL, JudgeScope
from reviews.models import Run
from reviews.records.wording import counted
from reviews.sampling.planned_shares import current_plan, finished_plans
from reviews.search.facets import VERDICT_ORDER
from reviews.statistics import coefficients, planning
from reviews.statistics.coefficients import Confusion
from reviews.statistics.intervals import Z, undefined
from reviews.statistics.planning import DesignEffect, PlanCells
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray, FloatArray

DEFINITION = (
    "The number of blind reviews until the 95% interval of the judge's accuracy is no wider than the target. "
    "Cells with more records, and with more even odds of an error, get more reviews (Neyman 1934; Cochran "
    "1977, chapter 5), because a review narrows the interval most there. Error rates and the dependence "
    "between records of one task are those of the blind reviews so far, so plan again after some reviews. "
    "More reviews of the same tasks narrow the interval less than reviews of other ones."
)
#: The filters of a plan: those by which the queue serves records. A plan counts the ratings of all people and
#: days, and one task has no interval.
PLAN_FILTERS = ("judge", "template", "model")
AIMS: dict[Aim, str] = {
    "run": "the accuracy over all these records",
    "parts": "the accuracy on flagged and on unflagged records, each by itself",
}
USUAL_TARGET = 0.05
NARROWEST, WIDEST = 0.005, 0.5
_NO_REVIEW = "No blind review with a verdict yet."
# Records without a rating that nobody can score blind any more, by cell: a file decides them, a lead closed
# them, or they returned to the queue after they were shown. The indexes evaluation_closed and review_unrated
# have the few candidates. Verdicts that follow from scores are in the facets.
_SHOWN = """
    WITH candidate AS (
        SELECT id FROM evaluation
        WHERE run_id = %(run)s AND (needs_human_review OR is_sampled) AND (
            human_review_status IN ('Needs Review', 'Pending') AND was_shown
            OR human_review_status NOT IN ('Needs Review', 'Pending') AND review_id IS NULL
        )
        UNION
        SELECT evaluation_id FROM review WHERE run_id = %(run)s AND (judged IS NULL OR stratum_id IS NULL)
    )
    SELECT needs_human_review, coalesce(aggregated_score, (%(verdicts)s::text[])[verdict_order + 1]),
           judge_llm_model, judge_prompt_template_path, coalesce(model_id, ''), count(*)
    FROM evaluation LEFT JOIN evaluation_facets ON evaluation_facets.evaluation_id = evaluation.id
    WHERE evaluation.id = ANY (ARRAY(SELECT id FROM candidate)) AND (needs_human_review OR is_sampled)
      AND (was_shown OR human_review_status NOT IN ('Needs Review', 'Pending'))
      AND NOT EXISTS (SELECT FROM rating WHERE rating.evaluation_id = evaluation.id)
    GROUP BY 1, 2, 3, 4, 5
"""
# With fewer ratings, the design effect is assumed.
_FEWEST = 30
_ASSUMED_DESIGN_EFFECT, _LARGEST_DESIGN_EFFECT = 1.5, 10.0


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, with the blind ratings that the plan adds."""

    cell: Cell
    records: int
    ratings: int
    more: int


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """The blind reviews that a target needs."""

    #: The records whose accuracy is to be known, by `PLAN_FILTERS`.
    scope: JudgeScope
    target: float
    aim: Aim
    #: All records of the scope, then its flagged and its unflagged ones, if there are any.
    parts: tuple[PlannedPart, ...] = ()
    cells: tuple[PlannedCell, ...] = ()
    #: The ratings that are needed for one independent rating.
    design_effect: float = _ASSUMED_DESIGN_EFFECT
    is_design_effect_assumed: bool = True
    #: Why there is no plan, or empty.
    unknown: str = ""
    #: The records that the plan omits, as a sentence.
    left_out: str = ""

    @property
    def run(self) -> Run:
        return self.scope.run

    @property
    def filters(self) -> dict[str, str]:
        """The values of `PLAN_FILTERS`, as query parameters."""
        given = {name: getattr(self.scope, name) for name in PLAN_FILTERS}
        return {name: value or NO_MODEL for name, value in given.items() if value is not None}

    @property
    def more(self) -> int:
        """The blind ratings that the plan adds."""
        return sum(cell.more for cell in self.cells)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The plan in words: a sentence for each part, and the assumptions."""
        if self.unknown:
            return (self.unknown,)
        found = [_sentence(part, self.target, self.filters) for part in self.parts]
        if self.is_design_effect_assumed:
            found.append(
                f"Assumes {self.design_effect:g} times as many reviews as independent records need, until "
                f"there are {_FEWEST} blind reviews."
            )
        return (*found, *filter(None, [self.left_out]))

    def as_json(self) -> dict[str, Any]:
        served = served_plan(self.run)
        return members(ReviewPlan, self, served=served, why=self.unknown)


def served_plan(run: Run) -> dict[str, Any] | None:
    """Return target, aim and filters of the plan that the queue serves, and whether it is finished."""
    served = current_plan(run)
    if served is None:
        return None
    is_finished = finished_plans().filter(pk=run.pk).exists()
    return {"target": served.target, "aim": served.aim, "filters": served.filters, "is_finished": is_finished}


def plan_reviews(scope: JudgeScope, target: float = USUAL_TARGET, aim: Aim = "run") -> JudgePlan:
    """Plan the blind reviews of a scope. `target` is half the width of the interval, from 0 to 1.

    Only `PLAN_FILTERS` apply.
    """
    scope = JudgeScope(scope.run, scope.judge, scope.template, scope.model)
    if unknown := why_not_counted(scope.run):
        return JudgePlan(scope, target, aim, unknown=unknown)
    records = load_cells(scope)
    found = combine(load_ratings(scope), records).only(lambda cell: bool(cell.verdict))
    if not found.records.cells:
        unknown = records.sentence or "No record has a verdict by the judge."
        return JudgePlan(scope, target, aim, unknown=unknown)
    if len(found.ratings) and not found.ratings.count(attrgetter("is_rated")):
        unknown = f"No blind review has a verdict by the reviewer, so more do not help. {WHY_NO_VERDICT}"
        return JudgePlan(scope, target, aim, unknown=unknown)
    cells = found.records.cells
    reviewed = _reviewed(scope, cells) + _shown(scope, cells)
    return plan_rated(scope, found, target, aim, reviewed)


def plan_rated(
    scope: JudgeScope, found: RatedRun, target: float, aim: Aim = "run", reviewed: FloatArray | None = None
) -> JudgePlan:
    """Plan the blind reviews of records.

    `reviewed` has the number of records of each cell that have a review, by default one for each rating.
    """
    return _Planner(found, _plan_cells(found, reviewed), target).plan(scope, aim)


@dataclass(frozen=True, eq=False, slots=True)
class _Planner:
    found: RatedRun
    cells: PlanCells
    target: float

    def plan(self, scope: JudgeScope, aim: Aim) -> JudgePlan:
        is_flagged = np.array([cell.is_flagged for cell in self.found.records.cells])
        every = np.ones_like(is_flagged)
        masks: dict[Part, BoolArray] = {"run": every, "flagged": is_flagged, "unflagged": ~is_flagged}
        accuracy = self._accuracy(masks)
        effects = {name: self._design_effect(masks[name], one) for name, one in accuracy.items()}
        alone = {name: self._needed(masks[name], one, effects[name]) for name, one in accuracy.items()}
        parts = np.sum([numbers for name, numbers in alone.items() if name != "run"], axis=0)
        more = alone["run"] if aim == "run" else parts
        return JudgePlan(
            scope=scope,
            target=self.target,
            aim=aim,
            parts=tuple(
                PlannedPart(
                    name=name,
                    records=int(self.cells.sizes[masks[name]].sum()),
                    ratings=one.n,
                    accuracy=one,
                    half_width=half_width(one),
                    more=int(more[masks[name]].sum()),
                    more_alone=int(alone[name].sum()),
                    best_half_width=(best := self._best_half_width(masks[name], effects[name], one)),
                    is_reachable=best is not None and best <= self.target,
                )
                for name, one in accuracy.items()
            ),
            cells=tuple(
                PlannedCell(cell, int(self.cells.sizes[at]), int(self.cells.rated[at]), int(more[at]))
                for at, cell in enumerate(self.found.records.cells)
            ),
            design_effect=effects["run"].now,
            is_design_effect_assumed=accuracy["run"].n < _FEWEST,
            left_out=self.found.records.sentence,
        )

    def _accuracy(self, masks: Mapping[Part, BoolArray]) -> dict[Part, Estimate]:
        """Estimate the accuracy of the run and its parts, as far as there are records."""
        verdicts = self.found.verdicts_by_flag
        pairs: dict[Part, Confusion | None] = {"flagged": verdicts.flagged, "unflagged": verdicts.unflagged}
        parts = {name: one for name, one in pairs.items() if one and masks[name].any()}
        rated = {name: int(self.cells.rated[masks[name]].sum()) for name in parts}
        found: dict[Part, Estimate] = {
            "run": undefined("Only a part of the records has blind reviews.", sum(rated.values()))
        }
        if not any(rated.values()):
            found["run"] = undefined(_NO_REVIEW)
        elif all(rated.values()):
            found["run"] = coefficients.stratified_accuracy([*parts.values()])
        for name, part in parts.items():
            found[name] = coefficients.accuracy(part) if rated[name] else undefined(_NO_REVIEW)
        return found

    def _design_effect(self, mask: BoolArray, accuracy: Estimate) -> DesignEffect:
        """Return the variance of the estimate so far, divided by that of as many independent ratings.

        The independent ratings are in the same parts (flag and verdict).
        """
        width = half_width(accuracy)
        if width is None or accuracy.n < _FEWEST:
            return DesignEffect(_ASSUMED_DESIGN_EFFECT, _ASSUMED_DESIGN_EFFECT)
        group = _groups(self.found.records.cells)
        variance = 0.0
        for number in range(int(group.max()) + 1):
            part = self.cells.only(mask & (group == number))
            if rated := float(part.rated.sum()):
                weight = float(part.sizes.sum() / self.cells.sizes[mask].sum())
                variance += weight**2 * float(part.weights @ part.deviation**2) / rated
        now = (width / Z) ** 2 / variance
        now = min(_LARGEST_DESIGN_EFFECT, max(1.0, now))
        return planning.design_effect(now, variance, self._neighbours(mask), self.target)

    def _neighbours(self, mask: BoolArray) -> float:
        """Return the mean number of other ratings of the task of a rating."""
        ratings = self.found.ratings
        marked = ratings.cluster[np.repeat(mask[self.found.place], ratings.counts)]
        by_task = np.unique(marked, return_counts=True)[1]
        return float((by_task**2).sum() / by_task.sum() - 1)

    def _needed(self, mask: BoolArray, accuracy: Estimate, effect: DesignEffect) -> IntArray:
        """Return the ratings that each cell needs more, for the marked ones by themselves."""
        more = np.zeros(len(mask), dtype=np.int64)
        width = half_width(accuracy)
        if width is None or width > self.target:
            more[mask] = planning.allocate(self.cells.only(mask), self.target, effect)
        return more

    def _best_half_width(self, mask: BoolArray, effect: DesignEffect, accuracy: Estimate) -> float | None:
        part = self.cells.only(mask & (self.cells.possible > 0))
        expected = planning.half_width(part, part.possible, effect)
        now = half_width(accuracy)
        # The design effect, and the error rates of cells with few reviews, may be overestimated.
        return expected if expected is None or now is None else min(expected, now)


def _reviewed(scope: JudgeScope, cells: Sequence[Cell]) -> FloatArray:
    """Count the records of each cell with a review, blind or not. Several reviews of a record count once."""
    place = {cell: at for at, cell in enumerate(cells)}
    bases: tuple[Basis, ...] = ("blind", "assisted")
    found = []
    for basis in bases:
        table = load_verdicts(scope, basis=basis)
        places = np.array([place.get(kind.cell, -1) for kind in table.ratings.kinds], dtype=np.int64)
        of_rating = np.repeat(places, table.ratings.counts)
        # One number for both is sorted ten times as fast as pairs.
        found.append((table.record * len(cells) + of_rating)[of_rating >= 0])
    of_records = np.unique(np.concatenate(found)) % len(cells)
    return np.bincount(of_records, minlength=len(cells)).astype(np.float64)


def _shown(scope: JudgeScope, cells: Sequence[Cell]) -> FloatArray:
    """Count the records of each cell that nobody can score blind any more, without those of `_reviewed`."""
    shown = np.zeros(len(cells))
    place = {cell: at for at, cell in enumerate(cells)}
    values = {"run": scope.run.pk, "verdicts": [*VERDICT_ORDER]}
    for is_flagged, verdict, judge, template, model, records in fetch_all(_SHOWN, values):
        cell = Cell(is_flagged=is_flagged, verdict=verdict or "", judge=judge, template=template, model=model)
        if cell in place:
            shown[place[cell]] = records
    return shown


def _plan_cells(found: RatedRun, reviewed: FloatArray | None) -> PlanCells:
    sizes = found.records.sizes.astype(np.float64)
    rated, wrong = _by_cell(found, attrgetter("is_rated")), _by_cell(found, attrgetter("is_wrong"))
    deviation = planning.deviations(rated, wrong, _groups(found.records.cells))
    left = np.maximum(0, sizes - (rated if reviewed is None else reviewed))
    return PlanCells(sizes, rated, rated + left, deviation)


def _by_cell(found: RatedRun, condition: Callable[[RatingKind], bool]) -> FloatArray:
    counts = [
        int(count) if condition(kind) else 0
        for kind, count in zip(found.ratings.kinds, found.ratings.counts, strict=True)
    ]
    return np.bincount(found.place, counts, minlength=len(found.records.cells)).astype(np.float64)


def _groups(cells: Sequence[Cell]) -> IntArray:
    """Number the cells by flag and verdict."""
    names = [(cell.is_flagged, cell.verdict) for cell in cells]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def half_width(accuracy: Estimate) -> float | None:
    """Return half the width of an interval, from 0 to 1."""
    if accuracy.low is None or accuracy.high is None:
        return None
    return (accuracy.high - accuracy.low) / 2


def _sentence(part: PlannedPart, target: float, filters: Mapping[str, str]) -> str:
    whole = "Records with these filters" if filters else "Whole run"
    title = {"run": whole, "flagged": "Flagged", "unflagged": "Unflagged"}[part.name]
    width = "" if part.half_width is None else f", ±{points(part.half_width)} points"
    now = f"{title}: {counted(part.ratings, 'blind review')}{width}"
    if part.half_width is not None and part.half_width <= target:
        return f"{now}: enough for ±{points(target)}."
    if part.best_half_width is None or not part.more_alone:
        return f"{now}. No other record can be reviewed blind."
    if not part.is_reachable:
        best = points(part.best_half_width)
        is_narrower = part.half_width is None or best != points(part.half_width)
        result = f"±{best}" if is_narrower else "hardly narrower"
        more = part.more_alone
        others = "the only other record" if more == 1 else f"all {more:,} other records"
        return f"{now}. ±{points(target)} is out of reach: with {others}, the interval is {result}."
    return f"{now}. {part.more_alone:,} more to ±{points(target)}."


def points(share: float) -> str:
    """Return a share in percentage points: 4.9, or 0.14."""
    number = share * 100
    return f"{number:.2g}" if abs(number) < 1 else f"{number:.1f}".removesuffix(".0")
