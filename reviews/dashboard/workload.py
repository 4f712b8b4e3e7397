"""How much work each person has: assigned records by run, and the pace of the last days."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reviews.dashboard.pace import DAYS, Pace, WorkPerDay, decisions_by_person
from reviews.models import Run, User
from reviews.queue import due_dates
from reviews.queue.progress import all_progress

PACE_DEFINITION = (
    f"Decisions are those of the {DAYS} days before today (UTC), or of today if the person made none before. "
    "Per day: divided by the days with a decision. Days of work: records, divided by decisions per day."
)


class RunWork(NamedTuple):
    """The assigned records of one person in a run that wait in the queue."""

    run: Run
    records: int
    overdue: int
    first_due: dt.date | None


@dataclass
class Workload:
    """The work of one person."""

    person: User
    decisions: WorkPerDay
    runs: list[RunWork] = field(default_factory=list)

    @property
    def records(self) -> int:
        """Assigned records that wait in the queue."""
        return sum(run.records for run in self.runs)

    @property
    def overdue(self) -> int:
        return sum(run.overdue for run in self.runs)

    @property
    def first_due(self) -> dt.date | None:
        return min((run.first_due for run in self.runs if run.first_due), default=None)

    @property
    def done(self) -> int:
        """The number of decisions from which the pace is computed."""
        return self._pace.total

    @property
    def days(self) -> int:
        """Days of these with a decision."""
        return len(self._pace.days)

    @property
    def pace(self) -> float | None:
        """Decisions per day with a decision; None without one. See `PACE_DEFINITION`."""
        return self._pace.per_day

    @property
    def _pace(self) -> Pace:
        return self.decisions.pace

    def days_of_work(self, records: int) -> float | None:
        """Return how many working days so many records take at this pace."""
        return records / self.pace if self.pace else None


def workloads(people: Iterable[User], *, reader: User) -> list[Workload]:
    """Return the work of these people in the runs that the reader may see, in their order."""
    visible = Run.objects.visible_to(reader)
    runs = visible.filter(archived_at=None).in_bulk()
    decisions = decisions_by_person(visible)
    found = {person.pk: Workload(person, decisions[person.pk]) for person in people}
    by_person: dict[int, list[RunWork]] = defaultdict(list)
    for one in due_dates.assigned_records():
        if one.run in runs:
            by_person[one.person].append(RunWork(runs[one.run], one.records, one.overdue, one.first_due))
    for pk, work in found.items():
        work.runs = sorted(by_person[pk], key=lambda one: (-one.overdue, -one.records, one.run.name))
    return list(found.values())


def run_to_assign(works: Iterable[Workload], reader: User) -> Run | None:
    """Return the newest open run with waiting records that none of these people has."""
    assigned: Counter[int] = Counter()
    for work in works:
        assigned.update({one.run.pk: one.records for one in work.runs})
    runs = Run.objects.visible_to(reader).filter(archived_at=None, is_restricted=False)
    counted = all_progress(runs)
    return next((run for run, progress in counted if progress.waiting > assigned[run.pk]), None)
