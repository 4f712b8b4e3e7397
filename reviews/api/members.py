"""Read and set the members of a run: the people who may see it, besides admins."""

from typing import Any

from ninja import Field, Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run
from reviews.queue.members import configure_members, current_members

router = Router(tags=["runs"])
_DESCRIPTION = "Usernames; null if the run is open to everybody. Admins always have access."


class MembersIn(Body):
    """The members that a run is to have."""

    members: list[str] | None = Field(max_length=10_000, description=_DESCRIPTION)


@operation(router, operations.MEMBERS, scope="read", permission="configure_run")
def get_members(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the members of a run. Leads and admins only."""
    found = get_run(run, request.user)
    return {"run": found.name, "members": current_members(found)}


@operation(router, operations.SET_MEMBERS, scope="configure")
def set_members(request: ApiRequest, run: str, sent: MembersIn) -> dict[str, Any]:
    """Restrict a run to members, or open it to everybody.

    People who lose access lose their claims and assignments in the run. Their decisions and drafts stay. A
    lead must be a member of the runs that they restrict.
    """
    found = get_run(run, request.user)
    saved = configure_members(run_id=found.pk, actor=request.user, members=sent.members)
    return {"run": saved.name, "members": current_members(saved)}
