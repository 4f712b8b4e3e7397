"""Settings of a run: members, length of claims, due date, sampling and blind review, and saved views."""

from dataclasses import asdict
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Router

from cognireview.types import operations, runs
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.evaluations import FilterValues, read_filters
from reviews.api.lookup import get_run
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.response_schemas import has_members_of
from reviews.judge import sampling_settings
from reviews.models import Run
from reviews.queue.members import configure_members, current_members
from reviews.queue.queue_settings import configure_queue
from reviews.rubric.run_settings import current_settings, fingerprint
from reviews.search import saved_views

router = Router(tags=["runs"])


@has_members_of(runs.QueueSettings)
class QueueIn(Body):
    """How records of a run are claimed."""


@has_members_of(runs.SamplingSettings)
class SamplingIn(Body):
    """Sampling and blind review. Shares are from 0 to 1."""

    seen: str = Field(description="The `fingerprint` that you read. Other settings are not replaced (409).")


class ViewIn(Body):
    """A list to save. It replaces your view of that name."""

    name: str = Field(min_length=1)
    filters: FilterValues = Field(default={})
    is_shared: bool = Field(default=False, description="Leads and admins only.")


class MembersIn(Body):
    """The members that a run is to have."""

    members: list[str] | None = Field(
        max_length=10_000,
        description="Usernames; null if the run is open to everybody. Admins always have access.",
    )


@operation(router, operations.SETTINGS, scope="read", permission="configure_run")
def get_run_settings(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the settings of a run. Leads and admins only."""
    return _shape(get_run(run, request.user))


@operation(router, operations.SET_QUEUE, scope="configure")
def set_queue_settings(request: ApiRequest, run: str, sent: QueueIn) -> dict[str, Any]:
    """Set how records of a run are claimed."""
    found = get_run(run, request.user)
    configure_queue(run_id=found.pk, actor=request.user, settings=runs.QueueSettings(**sent.dict()))
    return _shape(get_run(run, request.user))


@operation(router, operations.SET_SAMPLING, scope="configure", problems=(409,))
def set_sampling_settings(request: ApiRequest, run: str, sent: SamplingIn) -> dict[str, Any]:
    """Set the sampling and blind review of a run. The shares apply to reviews from now on."""
    found = get_run(run, request.user)
    values = sent.dict(exclude={"seen"})
    sampling_settings.configure(
        run_id=found.pk, actor=request.user, settings=runs.SamplingSettings(**values), seen=sent.seen
    )
    return _shape(get_run(run, request.user))


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


@operation(router, operations.VIEWS, scope="read")
def list_views(
    request: ApiRequest, run: str, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the saved views of a run that you can use, the oldest first: your own and the shared ones."""
    found = saved_views.visible_to(get_run(run, request.user), request.user)
    shown = list_by_key(request, response, found, after=after, limit=limit, newest_first=False)
    return [members(runs.View, view) for view in shown]


@operation(router, operations.SAVE_VIEW, scope="review")
def save_view(request: ApiRequest, run: str, sent: ViewIn) -> dict[str, Any]:
    """Save a list of records under a name."""
    found = get_run(run, request.user)
    query = read_filters(sent.filters).query_string
    view = saved_views.save(
        run=found, owner=request.user, name=sent.name, query=query, is_shared=sent.is_shared
    )
    return members(runs.View, view)


@operation(router, operations.REMOVE_VIEW, scope="review")
def remove_view(request: ApiRequest, run: str, view_id: int) -> None:
    """Remove your view or, as a lead, a shared one."""
    views = saved_views.visible_to(get_run(run, request.user), request.user)
    saved_views.remove(view=get_object_or_404(views, pk=view_id), actor=request.user)


def _shape(run: Run) -> dict[str, Any]:
    sampling = current_settings(runs.SamplingSettings, run)
    return {
        "run": run.name,
        "queue": members(runs.QueueSettings, run),
        "sampling": asdict(sampling),
        "fingerprint": fingerprint(sampling),
    }
