"""The counts that triggers keep by day: overridden scores by criterion, and decisions."""

import datetime as dt
from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum

from reviews.dashboard.selection import (
    OPEN_REVIEWS,
    SELECTED,
    WorkSelection,
    people_by_key,
    rate,
    selected_rows,
)
from reviews.models import CriterionDay, ReviewerDay, User

# The part of `CriterionDay` that open independent reviews make up, by criterion and reviewer.
_OPEN_BY_CRITERION = f"""
    SELECT left(key, 200), reviewer_id, count(*),
           count(*) FILTER (WHERE key = ANY(overridden))
    FROM review, jsonb_object_keys(judged) AS key WHERE id IN ({OPEN_REVIEWS}) AND {SELECTED} GROUP BY 1, 2
"""  # noqa: S608 (constants)
# The changed decisions of `ReviewerDay` that open independent reviews make up.
_OPEN_CHANGED_BY_DAY = f"""
    SELECT (submitted_at AT TIME ZONE 'UTC')::date, reviewer_id, count(*)
    FROM review WHERE id IN ({OPEN_REVIEWS}) AND changes > 0 AND {SELECTED} GROUP BY 1, 2
"""  # noqa: S608 (constants)


class CriterionOverrides(NamedTuple):
    """How often the judge's score of a criterion was overridden."""

    criterion: str
    judged: int
    overridden: int
    #: None for all reviewers.
    reviewer: User | None = None

    @property
    def override_rate(self) -> float | None:
        return rate(self.overridden, self.judged)


class DayFigures(NamedTuple):
    """The decisions of one reviewer on one day (UTC)."""

    day: dt.date
    reviewer: User
    done: int
    #: Decisions that changed anything.
    changed: int


def criterion_overrides(selection: WorkSelection) -> list[CriterionOverrides]:
    """Return the overrides of all reviewers together, highest rate first."""
    rows = overrides_by(selection, "criterion")
    return sorted((CriterionOverrides(*row) for row in rows), key=_by_rate)


def criterion_overrides_by_reviewer(selection: WorkSelection) -> list[CriterionOverrides]:
    """Return the overrides of each reviewer, by username."""
    rows = overrides_by(selection, "criterion", "reviewer")
    people = people_by_key(row[1] for row in rows)
    found = [
        CriterionOverrides(name, judged, overridden, people[pk]) for name, pk, judged, overridden in rows
    ]
    return sorted(found, key=lambda one: (str(one.reviewer), *_by_rate(one)))


def day_figures(selection: WorkSelection) -> list[DayFigures]:
    """Return the days with decisions, in chronological order."""
    rows = ReviewerDay.objects.filter(selection.on_days(), decisions__gt=0).values_list("day", "reviewer")
    found = list(rows.annotate(Sum("decisions"), Sum("changed")).order_by("day", "reviewer"))
    waiting = {(day, pk): changed for day, pk, changed in selected_rows(_OPEN_CHANGED_BY_DAY, selection)}
    people = people_by_key(pk for _, pk, *_ in found)
    return [
        DayFigures(day, people[pk], done, changed - waiting.get((day, pk), 0))
        for day, pk, done, changed in found
    ]


def overrides_by(selection: WorkSelection, *fields: str) -> list[tuple[Any, ...]]:
    """Sum compared and overridden scores by the given fields, without open independent reviews."""
    rows: QuerySet[CriterionDay, Any] = CriterionDay.objects.filter(selection.on_days()).values_list(*fields)
    summed = rows.annotate(Sum("judged"), Sum("overridden")).filter(judged__sum__gt=0).order_by()
    counted = {tuple(key): [judged, overridden] for *key, judged, overridden in summed}
    for criterion, reviewer, judged, overridden in selected_rows(_OPEN_BY_CRITERION, selection):
        values = {"criterion": criterion, "reviewer": reviewer}
        sums = counted[tuple(values[field] for field in fields)]
        sums[0] -= judged
        sums[1] -= overridden
    return [(*key, *sums) for key, sums in counted.items() if sums[0] > 0]


def _by_rate(figures: CriterionOverrides) -> tuple[float, str]:
    return -(figures.override_rate or 0), figures.criterion
