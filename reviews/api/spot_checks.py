"""Spot checks: draw or select decisions, agree with them, correct them, or reopen their records."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from ninja import Field, Router

from cognireview.types import leading, operations
from cognireview.types.encoding import members
from reviews.api import entries, saved_decision, shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.entries import DecisionIn
from reviews.api.evaluations import record_keys
from reviews.api.lookup import get_run, load
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import Problem, invalid_field
from reviews.api.values import Note
from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import SpotCheck, User
from reviews.models.runs import hidden_runs
from reviews.queue.claims import lock_evaluation
from reviews.records.conflicts import Conflict

router = Router(tags=["spot checks"])


class DrawIn(Body):
    """The reviewer and the days of the decisions to draw. Days are in UTC and inclusive."""

    reviewer: str = Field(description="A username.")
    count: int = Field(ge=1, le=spot_checks.MOST_DRAWN)
    run: str | None = None
    first: dt.date | None = None
    last: dt.date | None = None


class SelectIn(Body):
    """The records whose current decisions are to be checked."""

    evaluation_ids: list[str] = Field(min_length=1, max_length=spot_checks.MOST_DRAWN)


class AgreeIn(Body):
    """A note for the reviewer."""

    note: Note = ""


class CorrectIn(DecisionIn):
    """The right entries, and why."""

    reason: Note = Field(min_length=1)


class ReopenBySpotCheckIn(Body):
    """Why the record goes back to the queue."""

    reason: Note = Field(min_length=1)


@operation(router, operations.SPOT_CHECKS, scope="read", permission="lead_review")
def list_spot_checks(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the spot checks that wait for you, the oldest first. Leads and admins only."""
    waiting = spot_checks.open_checks(request.user)
    found = list_by_key(request, response, waiting, after=after, limit=limit, newest_first=False)
    return [_shape(one) for one in found]


@operation(router, operations.DRAW_SPOT_CHECKS, scope="review", permission="lead_review", problems=(404,))
def draw_spot_checks(request: ApiRequest, sent: DrawIn) -> list[dict[str, Any]]:
    """Draw current decisions of another reviewer at random. The list is empty if all were drawn before."""
    selection = WorkSelection(
        run=get_run(sent.run, request.user) if sent.run else None,
        first=sent.first,
        last=sent.last,
        reviewer=_reviewer(sent.reviewer),
        hidden_runs=tuple(hidden_runs(request.user).values_list("pk", flat=True)),
    )
    drawn = spot_checks.draw(selection=selection, count=sent.count, actor=request.user)
    return [_shape(one) for one in drawn]


@operation(router, operations.SELECT_SPOT_CHECKS, scope="review", permission="lead_review")
def select_spot_checks(request: ApiRequest, run: str, sent: SelectIn) -> list[dict[str, Any]]:
    """Check the current decisions of records that you select. No share of agreement counts these checks.

    Your own decisions and those that were checked before are left out.
    """
    found = get_run(run, request.user)
    keys = record_keys(found, sent.evaluation_ids)
    return [_shape(one) for one in spot_checks.select(run=found, records=keys, actor=request.user)]


def _reviewer(name: str) -> User:
    found = None if "\0" in name else User.objects.filter(username=name).first()
    if found is None:
        raise invalid_field("reviewer", "No person has this username.")
    return found


@operation(router, operations.SPOT_CHECK, scope="read", permission="lead_review")
def get_spot_check(request: ApiRequest, check_id: int) -> dict[str, Any]:
    """Return a spot check. Leads and admins only."""
    return _shape(load(SpotCheck, check_id, request.user))


@operation(router, operations.AGREE, scope="review", permission="lead_review", problems=(409,))
def agree_to_spot_check(request: ApiRequest, check_id: int, sent: AgreeIn | None = None) -> dict[str, Any]:
    """Agree with the decision."""
    found = load(SpotCheck, check_id, request.user)
    spot_checks.agree(check_id=found.pk, actor=request.user, note=sent.note if sent else "")
    return _shape(load(SpotCheck, check_id, request.user))


@operation(router, operations.REOPEN_CHECKED, scope="review", permission="lead_review", problems=(409,))
def reopen_by_spot_check(request: ApiRequest, check_id: int, sent: ReopenBySpotCheckIn) -> dict[str, Any]:
    """Put the record back into the queue."""
    found = load(SpotCheck, check_id, request.user)
    spot_checks.reopen(check_id=found.pk, actor=request.user, reason=sent.reason)
    return _shape(load(SpotCheck, check_id, request.user))


@operation(router, operations.CORRECT, scope="review", permission="lead_review", problems=(409,))
def correct_by_spot_check(
    request: ApiRequest, check_id: int, sent: CorrectIn, key: saved_decision.IdempotencyKey
) -> dict[str, Any]:
    """Replace the decision by a version of yours. The reviewer sees the reason.

    If only texts or causes differ, you agree with the scores.
    """
    found = load(SpotCheck, check_id, request.user)
    submission = saved_decision.submission_of(request.user, key)
    if _is_corrected_by(submission, found):
        return _shape(found)
    try:
        arguments = entries.decision_arguments(found.review.evaluation, sent, submission, None)
        spot_checks.correct(check_id=found.pk, actor=request.user, reason=sent.reason, **arguments)
    except (Problem, Conflict):
        # The first request with this key may be at work. It has the record locked.
        with transaction.atomic():
            lock_evaluation(found.review.evaluation_id)
        if not _is_corrected_by(submission, load(SpotCheck, check_id, request.user)):
            raise
    return _shape(load(SpotCheck, check_id, request.user))


def _is_corrected_by(submission: UUID, found: SpotCheck) -> bool:
    return found.correction is not None and found.correction.submission == submission


def _shape(found: SpotCheck) -> dict[str, Any]:
    return members(
        leading.SpotCheck,
        found,
        run=found.review.evaluation.run.name,
        evaluation_id=found.review.evaluation.evaluation_id,
        decision=shapes.decision_out(found.review),
    )
