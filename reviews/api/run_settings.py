"""Settings of a run: members, queue, sampling and blind review, saved views, rubric, and guideline."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Router

from cognireview.types import operations, runs
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSON, TOML, TOMLS, Body, check_type, parse_json
from reviews.api.evaluations import FilterValues, read_filters
from reviews.api.lookup import get_run
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import Problem
from reviews.api.response_schemas import has_members_of
from reviews.judge import sampling_settings
from reviews.models import Run
from reviews.queue.members import configure_members, current_members
from reviews.queue.queue_settings import configure_queue
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import MAX_BYTES, RubricError, format_rubric, parse_rubric, rubric_from_json
from reviews.review.rubric_changes import change_rubric
from reviews.rubric.guidelines import current_guideline, write_guideline
from reviews.rubric.run_rubric import run_rubric
from reviews.rubric.run_settings import current_settings, fingerprint
from reviews.search import saved_views

router = Router(tags=["runs"])


@has_members_of(runs.QueueSettings)
class QueueIn(Body):
    """The settings of a run's queue."""


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
    """Change the settings of a run's queue."""
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


_BODY = {
    "required": True,
    "content": {
        JSON: {"schema": {"$ref": "#/components/schemas/RubricIn"}},
        TOML: {"schema": {"type": "string"}},
    },
}


@operation(router, operations.RUBRIC, scope="read")
def get_rubric(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the rubric of a run: the declared one, or else the one inferred from its files."""
    return _rubric_shape(get_run(run, request.user))


@operation(router, operations.SET_RUBRIC, scope="configure", problems=(400, 409, 413, 415), requestBody=_BODY)
def set_rubric(request: ApiRequest, run: str, seen: str = "") -> dict[str, Any]:
    """Declare the rubric of a run, as TOML or as the same members in JSON. Imports do not change it then.

    With `seen`, the fingerprint of the rubric that you read, a rubric that has changed since is not replaced.
    """
    found = get_run(run, request.user)
    check_type(request, (*TOMLS, JSON))
    body = request.read(MAX_BYTES + 1)
    try:
        wanted = _from_json(body) if request.content_type == JSON else parse_rubric(body)
        saved = change_rubric(run_id=found.pk, actor=request.user, rubric=wanted, seen=seen or None)
    except RubricError as error:
        sentence = "The rubric is invalid. Nothing was saved."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, error.problems) from error
    return _rubric_shape(saved)


def _from_json(body: bytes) -> Rubric:
    if len(body) > MAX_BYTES:
        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A rubric has at most {MAX_BYTES:,} bytes.")
    return rubric_from_json(parse_json(body))


def _rubric_shape(run: Run) -> dict[str, Any]:
    known = run_rubric(run)
    return {
        "run": run.name,
        "is_declared": run.is_rubric_declared,
        "rubric": known.as_json(),
        "toml": format_rubric(known),
        "fingerprint": known.fingerprint,
    }


class GuidelineIn(Body):
    """A new text, which becomes the next version."""

    text: str
    seen: int | None = Field(
        default=None, description="The version that you read. Another one is not replaced."
    )


@operation(router, operations.GUIDELINE, scope="read")
def get_guideline(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the current guideline of a run."""
    return _guideline_shape(get_run(run, request.user))


@operation(router, operations.SET_GUIDELINE, scope="configure", problems=(409,))
def set_guideline(request: ApiRequest, run: str, sent: GuidelineIn) -> dict[str, Any]:
    """Write the next version of a run's guideline. Decisions note the version they were made under."""
    found = get_run(run, request.user)
    saved = write_guideline(run_id=found.pk, actor=request.user, text=sent.text, seen=sent.seen)
    return _guideline_shape(saved)


def _guideline_shape(run: Run) -> dict[str, Any]:
    known = current_guideline(run)
    return {"run": run.name, "version": run.guideline_version, "text": known.text if known else ""}
