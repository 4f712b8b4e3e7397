"""Due dates: a run's own, and the assigned records of people by due date.

A record without a due date is due with its run. Days are in UTC.
"""

import datetime as dt
from typing import Any, NamedTuple

from django.db import transaction

from reviews.audit import events
from reviews.database.statements import fetch_all
from reviews.days import today
from reviews.models import Run, User
from reviews.records.status import QUEUE_STATUSES

# The index evaluation_workload has these records.
_ASSIGNED = """
    SELECT assigned_to_id, run_id, count(*),
           count(*) FILTER (WHERE coalesce(e.due_on, run.due_on) < %(today)s),
           min(coalesce(e.due_on, run.due_on))
    FROM evaluation e JOIN run ON run.id = run_id
    WHERE assigned_to_id IS NOT NULL AND human_review_status = ANY(%(queue)s) AND NOT is_escalated
      AND (%(person)s::bigint IS NULL OR assigned_to_id = %(person)s)
      AND (%(runs)s::bigint[] IS NULL OR run_id = ANY(%(runs)s))
      AND (%(due)s::date IS NULL OR coalesce(e.due_on, run.due_on) = %(due)s)
      AND archived_at IS NULL AND deletion_requested_at IS NULL
    GROUP BY 1, 2
"""


class AssignedRecords(NamedTuple):
    """The records of a run that are assigned to one person and wait in the queue."""

    #: The key of the person.
    person: int
    #: The key of the run.
    run: int
    records: int
    overdue: int
    #: The earliest due date; None if none has one.
    first_due: dt.date | None


def assigned_records(
    *, person: User | None = None, runs: list[int] | None = None, due: dt.date | None = None
) -> list[AssignedRecords]:
    """Count the assigned records by person and run: of one person, in some runs, or due on one day.

    Archived runs are left out. Callers leave out runs that the reader may not see.
    """
    values: dict[str, Any] = {
        "today": today(),
        "queue": list(QUEUE_STATUSES),
        "person": person.pk if person else None,
        "runs": runs,
        "due": due,
    }
    return [AssignedRecords(*row) for row in fetch_all(_ASSIGNED, values)]


@transaction.atomic
def announce_due_records() -> int:
    """Record an event for each person and run with assigned records that are due on the next day.

    Return the number of events. Notifications and programs that read the audit log remind the people.
    """
    tomorrow = today() + dt.timedelta(days=1)
    found = assigned_records(due=tomorrow)
    runs = Run.objects.in_bulk({one.run for one in found})
    people = User.objects.in_bulk({one.person for one in found})
    for one in found:
        events.record(
            "records due",
            actor=None,
            run=runs[one.run],
            username=people[one.person].username,
            records=one.records,
            due_on=tomorrow.isoformat(),
        )
    return len(found)
