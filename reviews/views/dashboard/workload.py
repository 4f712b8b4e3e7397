"""Show how much work each person has."""

from django.http import HttpResponse
from django.shortcuts import render

from reviews.accounts.permissions import check, people_with_role
from reviews.dashboard import workload
from reviews.http.request import Request
from reviews.views.access import replica_view


@replica_view
def workload_page(request: Request) -> HttpResponse:
    """List the assigned records of each person by run, with their pace."""
    check(request.user, "lead_review")
    works = workload.workloads(people_with_role(), reader=request.user)
    context = {
        "rows": [(work, work.days_of_work(work.records)) for work in works],
        "run_to_assign": workload.run_to_assign(works, request.user),
        "definition": workload.PACE_DEFINITION,
    }
    return render(request, "dashboard/workload.html", context)
