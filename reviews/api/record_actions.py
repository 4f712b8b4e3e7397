"""Actions on a record besides reviewing it: claim, skip, escalate, reopen, restore and undo."""

from typing import Any, Literal

from django.db import transaction
from django.http import HttpResponse
from ninja import Field, Router, Status

from cognireview.types import operations
from reviews.accounts.permissions import check_revise
from reviews.api import saved_decision, shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.evaluations import register_ambiguous_paths
from reviews.api.lookup import get_record, get_run
from reviews.api.preconditions import IF_MATCH, check_if_match, locked_if_match, only_if_match, set_etag
from reviews.api.problems import invalid_field
from reviews.api.values import Note
from reviews.queue import claims
from reviews.review import decisions, escalations
from reviews.review import undo as review_undo
from reviews.review.forms.escalation import EscalationForm
from reviews.review.undo import Action

router = Router(tags=["review"])


class ClaimRecordIn(Body):
    """How to claim a record."""

    take_over: bool = Field(
        default=False, description="Whether to take over another person's claim, as a lead."
    )


class EscalationIn(Body):
    """A reason or a note for a lead. A question needs a note."""

    kind: Literal["cannot judge", "question"] = "cannot judge"
    reason: Literal["", "no response", "no reference", "unreadable output", "out of my field"] = ""
    note: Note = ""


class ReopenIn(Body):
    """Why the record is reopened."""

    reason: Note = Field(min_length=1)


class RestoreIn(Body):
    """The version to restore, and why."""

    restored: int = Field(ge=1, le=2**31 - 1, description="The `version` of an earlier decision.")
    reason: Note = Field(min_length=1)
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="The record's version when it was read."
    )


class UndoIn(Body):
    """The action to undo; without it, your last one."""

    event: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="From GET. Repeating it undoes nothing more."
    )


@operation(router, operations.CLAIM_RECORD, scope="review", problems=(409, 412), parameters=[IF_MATCH])
def claim_record(
    request: ApiRequest,
    response: HttpResponse,
    run: str,
    evaluation_id: str,
    wanted: ClaimRecordIn | None = None,
) -> dict[str, Any]:
    """Claim a certain record, or renew your claim on it.

    Only leads may claim records that are escalated or assigned to somebody else. A lead who claims a record
    on which independent reviews differ may read them, and can submit none afterwards.
    """
    record = get_record(run, evaluation_id, request.user)
    take_over = bool(wanted and wanted.take_over)
    with transaction.atomic():
        claimed = claims.claim(evaluation_id=record.pk, reviewer=request.user, take_over=take_over)
        check_if_match(request, claimed)  # after the claim, which has locked the record
    record = get_record(run, evaluation_id, request.user)
    return set_etag(response, shapes.record_out(record, request.user))


@operation(router, operations.SKIP, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@locked_if_match
def skip_record(request: ApiRequest, run: str, evaluation_id: str) -> None:
    """Release a record and leave it out of your queue."""
    claims.skip(evaluation_id=get_record(run, evaluation_id, request.user).pk, reviewer=request.user)


@operation(router, operations.UNSKIP, scope="review", problems=(409,))
def unskip_record(request: ApiRequest, run: str, evaluation_id: str) -> None:
    """Return a skipped record to your queue."""
    claims.unskip(evaluation_id=get_record(run, evaluation_id, request.user).pk, reviewer=request.user)


@operation(router, operations.UNSKIP_ALL, scope="review")
def unskip_all_records(request: ApiRequest, run: str) -> None:
    """Return all records of a run that you skipped to your queue."""
    claims.unskip_all(run=get_run(run, request.user), reviewer=request.user)


@operation(router, operations.ESCALATE, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@locked_if_match
def escalate_record(request: ApiRequest, run: str, evaluation_id: str, sent: EscalationIn) -> dict[str, Any]:
    """Send a record to a lead. Your draft is kept."""
    record = get_record(run, evaluation_id, request.user)
    form = EscalationForm(sent.dict())
    if not form.is_valid():
        name, sentences = next(iter(form.errors.items()))
        raise invalid_field(name, str(sentences[0]))
    escalations.escalate(evaluation_id=record.pk, reviewer=request.user, **form.cleaned_data)
    return shapes.record_out(get_record(run, evaluation_id, request.user), request.user)


@operation(router, operations.REOPEN, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@locked_if_match
def reopen_record(request: ApiRequest, run: str, evaluation_id: str, sent: ReopenIn) -> dict[str, Any]:
    """Put a decided record back into the queue: your own, or as a lead anybody's.

    Its decision stays current until there is a new one.
    """
    record = get_record(run, evaluation_id, request.user)
    decisions.reopen(evaluation_id=record.pk, actor=request.user, reason=sent.reason)
    return shapes.record_out(get_record(run, evaluation_id, request.user), request.user)


@operation(router, operations.RESTORE, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@only_if_match
def restore_decision(
    request: ApiRequest, run: str, evaluation_id: str, sent: RestoreIn, key: saved_decision.IdempotencyKey
) -> dict[str, Any]:
    """Make an earlier version the current decision again, as a new version."""
    record = get_record(run, evaluation_id, request.user)
    check_revise(request.user, record)
    if not record.reviews.filter(version=sent.restored).exists():
        raise invalid_field("restored", "The record has no version with this number.")
    decisions.restore(
        evaluation_id=record.pk,
        actor=request.user,
        version=record.version if sent.version is None else sent.version,
        submission=saved_decision.submission_of(request.user, key),
        restored=sent.restored,
        reason=sent.reason,
    )
    return shapes.record_out(get_record(run, evaluation_id, request.user), request.user)


@operation(router, operations.RELEASE, scope="review")
def release_record(request: ApiRequest, run: str, evaluation_id: str) -> None:
    """Release your claim on a record, or as a lead anybody's. An unclaimed record stays unchanged."""
    claims.release(evaluation_id=get_record(run, evaluation_id, request.user).pk, actor=request.user)


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
    # The number of an independent review would reveal how many there are.
    has_version = action.is_decision and event.action != "independent review"
    return {
        "event": event.pk,
        "action": event.action,
        "at": event.at,
        "evaluation_id": action.record.evaluation_id,
        "decision_version": event.detail["version"] if has_version else None,
    }


register_ambiguous_paths(router, "claim", "skip", "escalation", "reopening", "restoration")
