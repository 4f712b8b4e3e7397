"""Return the outcome of a decision that a program sends, also to a repeated request."""

import uuid
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, TypeVar, cast

from django.db import transaction
from ninja import HeaderEx, P

from reviews.api import shapes
from reviews.api.entries import DecisionIn, is_same_decision
from reviews.api.lookup import get_record
from reviews.api.problems import Problem
from reviews.models import Evaluation, Review, User
from reviews.queue.claims import lock_evaluation
from reviews.records.conflicts import Conflict
from reviews.review import versions

View = TypeVar("View", bound=Callable[..., Any])
IdempotencyKey = HeaderEx[str, P(alias="Idempotency-Key", min_length=1, max_length=255)]
_SUBMISSIONS = uuid.UUID("5d7c1b1e-52a3-4c8e-9f0d-6a1f3a0d7b62")


def submission_of(person: User, key: str) -> uuid.UUID:
    """Return the id of the submission that a person sends with an Idempotency-Key."""
    return uuid.uuid5(_SUBMISSIONS, f"{person.pk} {key}")


def saved_before(
    submission: uuid.UUID, record: Evaluation, reviewer: User, sent: DecisionIn
) -> dict[str, Any] | None:
    """Return the response to a repeated request; None for a new one.

    Raises `Problem` (422) if the key was used for another decision.
    """
    before = versions.sent_before(submission, record, reviewer)
    if before is None:
        return None
    if not is_same_decision(sent, before):
        sentence = "This Idempotency-Key was already used for another decision on this record."
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            sentence,
            [("Idempotency-Key", "used before")],
            slug="idempotency-key-reused",
        )
    return saved_out(before)


def waits_for_first_request(view: View) -> View:
    """Decorate a view that saves a decision, for a request that is repeated while the first one is at work.

    In between, a file may extend the rubric, and the repeated request has become invalid. So before the view
    refuses a request, it waits for the first one, and returns the decision that the first one has saved.
    """

    @wraps(view)
    def answered(
        request: Any, run: str, evaluation_id: str, sent: DecisionIn, key: str, **others: Any
    ) -> Any:
        try:
            return view(request, run=run, evaluation_id=evaluation_id, sent=sent, key=key, **others)
        except (Problem, Conflict):
            record = get_record(run, evaluation_id, request.user)
            with transaction.atomic():
                lock_evaluation(record.pk)
                submission = submission_of(request.user, key)
                before = saved_before(submission, record, request.user, sent)
            if before is None:
                raise
            return before

    return cast("View", answered)


def saved_out(made: Review) -> dict[str, Any]:
    record = made.evaluation
    decision = shapes.decision_out(made)
    if record.review_id == made.pk:
        outcome = "current"
    else:
        outcome = "disagreement" if record.is_escalated else "independent review"
        decision["version"] = None  # the number would reveal how many reviews there are
    return {
        "outcome": outcome,
        "status": record.shown_status,
        "version": record.version,
        "decision": decision,
    }
