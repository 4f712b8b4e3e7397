"""Undo over the API: the same function as on the pages."""

from typing import Any

from ninja import Field, Router, Status

from cognireview.types import operations
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_record, get_run
from reviews.review import undo as review_undo
from reviews.review.undo import Action

router = Router(tags=["review"])


class UndoIn(Body):
    """The action to undo; without it, your last one."""

    event: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="From GET. Repeating it undoes nothing more."
    )


@operation(router, operations.LAST_ACTION, scope="review")
def get_last_action(request: ApiRequest, run: str) -> Status[Any]:
    """Return your last action in the run that was not undone; 204 without one in the last 24 hours."""
    action = review_undo.last_action(run=get_run(run, request.user), actor=request.user)
    return Status(204, None) if action is None else Status(200, _action_out(action))


@operation(router, operations.UNDO, scope="review", problems=(409,))
def undo_last_action(request: ApiRequest, run: str, wanted: UndoIn | None = None) -> dict[str, Any]:
    """Undo your last action in the run, whatever it was. You get the record back if it is free.

    409 says why the action can no longer be undone.
    """
    found = get_run(run, request.user)
    event = wanted.event if wanted else None
    undone = review_undo.undo(run=found, actor=request.user, event=event)
    record = get_record(run, undone.evaluation.evaluation_id, request.user)
    return {"undone": _action_out(undone.action), "record": shapes.record_out(record, request.user)}


def _action_out(action: Action) -> dict[str, Any]:
    event = action.event
    # The number of an independent review would tell how many there are.
    has_version = action.is_decision and event.action != "independent review"
    return {
        "event": event.pk,
        "action": event.action,
        "at": event.at,
        "evaluation_id": action.record.evaluation_id,
        "decision_version": event.detail["version"] if has_version else None,
    }
