"""The number of reviews that a second plan asks for, in simulated runs with dependence within tasks."""

from math import ceil
from random import Random

import numpy as np
import pytest

from reviews.judge import planning
from reviews.judge.cells import Cell, CellRecords
from reviews.judge.rated_run import RatedRun, combine
from reviews.judge.ratings import RatingKind, Ratings
from reviews.judge.review_plan import FIRST_PART
from reviews.judge.scope import JudgeScope
from reviews.models import Run

#: Cluster and whether the judge is wrong.
Record = tuple[int, bool]
_TARGET = 0.05


def simulated_records(rng: Random, tasks: int, models: int, spread: float) -> dict[Cell, list[Record]]:
    """Return the records of a run by cell. `spread` is the standard deviation of error rates over tasks."""
    rates = {True: rng.uniform(0.3, 0.6), False: rng.uniform(0.03, 0.2)}
    flagged = rng.uniform(0.1, 0.4)
    found: dict[Cell, list[Record]] = {}
    for task in range(tasks):
        shift = rng.gauss(0, spread)
        for model in range(models):
            is_flagged = rng.random() < flagged
            cell = Cell(is_flagged, rng.choice(["Pass", "Pass", "Fail"]), "j", "p", f"m{model}")
            found.setdefault(cell, []).append((task, rng.random() < rates[is_flagged] + shift))
    for records in found.values():
        rng.shuffle(records)
    return dict(sorted(found.items()))


def rated_run(records: dict[Cell, list[Record]], ratings: dict[Cell, int]) -> RatedRun:
    """Return the run with the first records of each cell rated."""
    clusters = tuple(np.array([task for task, _ in rated], dtype=np.int32) for rated in records.values())
    rows = []
    for cell, number in ratings.items():
        other = "Fail" if cell.verdict == "Pass" else "Pass"
        for task, is_wrong in records[cell][:number]:
            human = other if is_wrong else cell.verdict
            kind = RatingKind(cell, not cell.is_flagged, cell.verdict, human)
            rows.append((kind, task, len(records[cell]) / number))
    rows.sort(key=lambda row: row[0])
    kinds = tuple(dict.fromkeys(kind for kind, _, _ in rows))
    place = {kind: number for number, kind in enumerate(kinds)}
    numbers = np.bincount([place[kind] for kind, _, _ in rows], minlength=len(kinds)).astype(np.int32)
    tasks = np.array([task for _, task, _ in rows], dtype=np.int32)
    weights = np.array([weight for _, _, weight in rows])
    return combine(Ratings(kinds, numbers, tasks, weights), CellRecords(tuple(records), clusters))


def needed_per_planned(seed: int, tasks: int, models: int, spread: float) -> float | None:
    """Return the reviews that the target needs as a multiple of those that the second plan asks for.

    They follow from the interval after that plan. None if the first part was enough.
    """
    records = simulated_records(Random(seed), tasks, models, spread)
    ratings = dict.fromkeys(records, 0)
    for part in (FIRST_PART, None):
        plan = planning.plan_rated(JudgeScope(Run()), rated_run(records, ratings), _TARGET)
        if not plan.more:
            return None
        served = part / plan.more if part else 1
        for one in plan.cells:
            ratings[one.cell] += ceil(one.more * served)
    width = planning.plan_rated(JudgeScope(Run()), rated_run(records, ratings), _TARGET).parts[0].half_width
    assert width is not None
    return (width / _TARGET) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "models", "spread"),
    [
        pytest.param(160, 5, 0.0, id="independent", marks=pytest.mark.exhaustive),
        pytest.param(160, 5, 0.12, id="weak"),
        pytest.param(160, 5, 0.3, id="strong", marks=pytest.mark.exhaustive),
        pytest.param(40, 20, 0.12, id="few tasks", marks=pytest.mark.exhaustive),
    ],
)
def test_second_plan_asks_for_about_the_needed_reviews(tasks: int, models: int, spread: float) -> None:
    found = [needed_per_planned(seed, tasks, models, spread) for seed in range(60)]
    assert 0.8 < np.mean([one for one in found if one is not None]) < 1.15
