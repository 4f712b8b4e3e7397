"""How much work each person has."""

from typing import Any

from django.http import HttpResponse
from ninja import Router

from cognireview.types import leading, operations
from cognireview.types.encoding import members
from reviews.accounts.permissions import people_with_role
from reviews.api.auth import ApiRequest, operation
from reviews.api.links import LIST_SIZE, After, Limit, list_by_key
from reviews.dashboard.workload import workloads

router = Router(tags=["people"])


@operation(router, operations.WORKLOADS, scope="read", permission="lead_review")
def list_workloads(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the work of everybody with a role, the oldest account first, in runs that you may see.

    Leads and admins only.
    """
    people = list_by_key(request, response, people_with_role(), after=after, limit=limit, newest_first=False)
    return [members(leading.Workload, work) for work in workloads(people, reader=request.user)]
