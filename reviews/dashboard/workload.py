"""How much work each person has: assigned records by run, and the pace of the last days."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count
from django.utils import timezone

from reviews.models import Review, Run, User
from reviews.queue import due_dates
from reviews.queue.progress import all_progress

PACE_DAYS = 7


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
    #: Decisions of the last `PACE_DAYS` days that were not undone.
    done: int = 0
    #: Days of these with a decision.
    days: int = 0
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
    def pace(self) -> float | None:
        """Decisions per day with a decision; None without one."""
        return self.done / self.days if self.days else None

    def days_of_work(self, records: int) -> float | None:
        """Return how many working days so many records take at this pace."""
        return records / self.pace if self.pace else None


def workloads(people: Iterable[User], *, reader: User) -> list[Workload]:
    """Return the work of these people in the runs that the reader may see, in their order."""
    found = {person.pk: Workload(person) for person in people}
    runs = Run.objects.visible_to(reader).filter(archived_at=None).in_bulk()
    by_person: dict[int, list[RunWork]] = defaultdict(list)
    for one in due_dates.assigned_records():
        if one.run in runs:
            by_person[one.person].append(RunWork(runs[one.run], one.records, one.overdue, one.first_due))
    since = timezone.now() - dt.timedelta(days=PACE_DAYS)
    made = Review.objects.by_reviewers().filter(
        submitted_at__gte=since, withdrawal__isnull=True, run__in=runs, reviewer__in=found
    )
    paces = made.values("reviewer").annotate(
        done=Count("pk"), days=Count("submitted_at__date", distinct=True)
    )
    for row in paces:
        found[row["reviewer"]].done, found[row["reviewer"]].days = row["done"], row["days"]
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
