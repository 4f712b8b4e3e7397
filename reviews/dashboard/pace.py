"""The pace of the team, and when a run will be finished at that pace.

The pace is the work of the seven days before today, divided by the days with work among them. Today counts
only if there was no work before, because it is not over.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db.models import QuerySet, Sum

from reviews import days
from reviews.dashboard.selection import WorkSelection
from reviews.models import RecordDay, ReviewerDay, Run
from reviews.queue.progress import Progress, all_progress

DAYS = 7
DEFINITION = (
    f"Decisions of the {DAYS} days before today, divided by the days among them on which anybody worked "
    "(UTC). Revisions and independent reviews count."
)
FINISH_DEFINITION = (
    "The day on which no record is left in the queue. It assumes that the team works on the same days of the "
    "week, finishes as many records on each of them, and that no records are added. A record that needs "
    "several independent reviews counts once it is decided."
)
_DAY = dt.timedelta(days=1)
_FARTHEST = 520  # weeks


class Pace(NamedTuple):
    """Work per day over the days from `first` to `last`."""

    first: dt.date
    last: dt.date
    total: int
    #: The days with work.
    days: tuple[dt.date, ...]

    @property
    def per_day(self) -> float | None:
        """Work on a day with work. None without one."""
        return self.total / len(self.days) if self.days else None

    @property
    def weekdays(self) -> tuple[int, ...]:
        """The days of the week with work, from 0 for Monday. All, if only today is known."""
        if self.first == self.last:
            return tuple(range(DAYS))
        return tuple(sorted({day.weekday() for day in self.days}))


class WorkPerDay(NamedTuple):
    """Work per day, for the pace now and a week before."""

    today: dt.date
    by_day: Mapping[dt.date, int]

    @property
    def done_today(self) -> int:
        return self.by_day.get(self.today, 0)

    @property
    def done_yesterday(self) -> int:
        return self.by_day.get(self.today - _DAY, 0)

    @property
    def pace(self) -> Pace:
        found = self._pace(self.today - DAYS * _DAY, self.today - _DAY)
        return found if found.days else self._pace(self.today, self.today)

    @property
    def pace_before(self) -> Pace:
        """The pace of the week before."""
        return self._pace(self.today - 2 * DAYS * _DAY, self.today - (DAYS + 1) * _DAY)

    def _pace(self, first: dt.date, last: dt.date) -> Pace:
        worked = {day: done for day, done in self.by_day.items() if first <= day <= last and done > 0}
        return Pace(first, last, sum(worked.values()), tuple(sorted(worked)))

    def finish(self, left: int, pace: Pace | None = None) -> dt.date | None:
        """Return the day on which `left` more units will be done, at `pace` or the present one.

        None without a pace, or if that day is more than ten years away.
        """
        at = pace or self.pace
        if at.per_day is None:
            return None
        day = self.today
        if left <= 0:
            return day
        if day.weekday() in at.weekdays:
            left -= max(0, round(at.per_day) - self.done_today)
        weeks = max(0, int((left - 1) // (at.per_day * len(at.weekdays))))
        if weeks > _FARTHEST:
            return None
        rest = left - weeks * at.per_day * len(at.weekdays)
        day += weeks * DAYS * _DAY
        while rest > 1e-6:
            day += _DAY
            if day.weekday() in at.weekdays:
                rest -= at.per_day
        return day


def decisions_by_day(selection: WorkSelection) -> WorkPerDay:
    """Return the decisions of the last two weeks, whatever the days of the selection."""
    today = days.today()
    rows = ReviewerDay.objects.filter(selection.in_runs(), day__range=(today - 2 * DAYS * _DAY, today))
    return WorkPerDay(today, dict(rows.values_list("day").annotate(Sum("decisions")).order_by()))


def decisions_by_person(runs: QuerySet[Run]) -> defaultdict[int, WorkPerDay]:
    """Return the decisions of the last two weeks in some runs by the key of each person."""
    today = days.today()
    rows = ReviewerDay.objects.filter(run__in=runs, day__range=(today - 2 * DAYS * _DAY, today))
    found: defaultdict[int, WorkPerDay] = defaultdict(lambda: WorkPerDay(today, {}))
    by_day: dict[int, dict[dt.date, int]] = defaultdict(dict)
    for person, day, decisions in rows.values_list("reviewer", "day").annotate(Sum("decisions")).order_by():
        by_day[person][day] = decisions
    found.update({pk: WorkPerDay(today, theirs) for pk, theirs in by_day.items()})
    return found


def records_by_day(runs: Iterable[Run]) -> dict[int, WorkPerDay]:
    """Return the records decided in the last two weeks by the key of each run."""
    today = days.today()
    rows = RecordDay.objects.filter(run__in=[run.pk for run in runs])
    found: dict[int, dict[dt.date, int]] = defaultdict(dict)
    for run, day, records in (
        rows.filter(day__range=(today - 2 * DAYS * _DAY, today))
        .values_list("run", "day")
        .annotate(Sum("records"))
        .order_by()
    ):
        found[run][day] = records
    return {pk: WorkPerDay(today, by_day) for pk, by_day in found.items()}


def together(workloads: Iterable[WorkPerDay]) -> WorkPerDay:
    """Add up the work of several runs."""
    sums: dict[dt.date, int] = defaultdict(int)
    for one in workloads:
        for day, done in one.by_day.items():
            sums[day] += done
    return WorkPerDay(days.today(), sums)


class RunPace(NamedTuple):
    """The progress of a run with its pace in decided records."""

    run: Run
    progress: Progress
    workload: WorkPerDay


def run_paces(runs: QuerySet[Run], chosen: Run | None = None) -> list[RunPace]:
    """Return the progress and pace of the chosen run, or of all runs that are not archived."""
    shown = runs.filter(pk=chosen.pk) if chosen else runs.filter(archived_at=None)
    counted = all_progress(shown)
    found = records_by_day(run for run, _ in counted)
    nothing = together(())
    return [RunPace(run, progress, found.get(run.pk, nothing)) for run, progress in counted]
