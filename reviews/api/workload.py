"""How much work each person has."""

import datetime as dt
from typing import Any

from django.http import HttpResponse
from ninja import Field, Router, Schema

from reviews.accounts.permissions import check, people_with_role
from reviews.api.auth import ApiRequest, operation
from reviews.api.links import LIST_SIZE, After, Limit, list_by_key
from reviews.dashboard.workload import PACE_DAYS, Workload, workloads

router = Router(tags=["people"])


class RunWorkOut(Schema):
    """Records of a run that are assigned to a person and wait in the queue."""

    run: str
    records: int
    overdue: int
    first_due: dt.date | None


class WorkloadOut(Schema):
    """The work of a person."""

    person: str = Field(description="The username.")
    records: int = Field(description="Assigned records that wait in the queue.")
    overdue: int
    first_due: dt.date | None
    done: int = Field(description=f"Decisions of the last {PACE_DAYS} days.")
    pace: float | None = Field(description="Decisions per day with a decision.")
    runs: list[RunWorkOut]


@operation(router, "GET", "/workload", scope="read", response=list[WorkloadOut])
def list_workloads(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the work of everybody with a role, the oldest account first, in runs that you may see.

    Leads and admins only.
    """
    check(request.user, "lead_review")
    people = list_by_key(request, response, people_with_role(), after=after, limit=limit, newest_first=False)
    return [_shape(work) for work in workloads(people, reader=request.user)]


def _shape(work: Workload) -> dict[str, Any]:
    names = ("records", "overdue", "first_due", "done", "pace")
    return {
        "person": work.person.username,
        **{name: getattr(work, name) for name in names},
        "runs": [
            {
                "run": one.run.name,
                "records": one.records,
                "overdue": one.overdue,
                "first_due": one.first_due,
            }
            for one in work.runs
        ],
    }
