"""Reviews by programs: claim the next record, submit a decision, or release the record.

Retrying with the same Idempotency-Key stores a decision once. A blind record needs locked-in scores first,
as on the screen.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.http import QueryDict
from ninja import Field, HeaderEx, P, Router, Status

from reviews.api import entries, shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.entries import BlindIn, DecisionIn
from reviews.api.evaluations import filter_problem
from reviews.api.lookup import get_record, get_run
from reviews.api.paths import RECORD
from reviews.api.problems import Problem
from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, decisions, versions
from reviews.search.filters import FILTERS, Filters

router = Router(tags=["review"])
# Problems of every operation with a JSON body.
_JSON_PROBLEMS = (400, 413, 415)
_SUBMISSIONS = uuid.UUID("5d7c1b1e-52a3-4c8e-9f0d-6a1f3a0d7b62")


class ClaimIn(Body):
    """Filters as on the page of the run; several values as a list."""

    filters: dict[str, str | list[str]] = Field(
        default={}, json_schema_extra={"propertyNames": {"enum": [*FILTERS]}}
    )


@operation(
    router,
    "POST",
    "/runs/{run}/claims",
    scope="review",
    response={200: shapes.RecordOut, 204: None},
    problems=(*_JSON_PROBLEMS, 404),
)
def claim(request: ApiRequest, run: str, wanted: ClaimIn | None = None) -> Status[Any]:
    """Claim the next available record, or return the one you have claimed already; 204 if none is left.

    It is reserved for you until `claimed_until`.
    """
    filters = _filters(wanted.filters if wanted else {})
    found = get_run(run, request.user)
    condition = filters.condition(found, request.user)
    claimed = claims.claim_next(run=found, reviewer=request.user, condition=condition)
    if claimed is None:
        return Status(204, None)
    record = get_record(run, claimed.evaluation_id, request.user)
    return Status(200, shapes.record_out(record, request.user))


def _filters(wanted: Mapping[str, str | list[str]]) -> Filters:
    query = QueryDict(mutable=True)
    for name, values in wanted.items():
        query.setlist(name, [values] if isinstance(values, str) else values)
    filters = Filters.parse(query)
    if filters.problems:
        raise filter_problem(filters.problems)
    # Claiming a record changes these two.
    return filters.with_only("status", "").with_only("claimed-by", "")


@operation(
    router,
    "DELETE",
    f"{RECORD}/claim",
    scope="review",
    response={204: None},
    problems=(404,),
)
def release(request: ApiRequest, run: str, evaluation_id: str) -> Status[Any]:
    """Release your claim on a record, or as a lead anybody's. An unclaimed record stays unchanged."""
    claims.release(evaluation_id=get_record(run, evaluation_id, request.user).pk, actor=request.user)
    return Status(204, None)


@operation(
    router,
    "PUT",
    f"{RECORD}/blind-scores",
    scope="review",
    response=shapes.RecordOut,
    problems=(*_JSON_PROBLEMS, 404, 409),
)
def lock_in(request: ApiRequest, run: str, evaluation_id: str, sent: BlindIn) -> dict[str, Any]:
    """Lock in blind scores on a record you have claimed. The response contains the judge's scores.

    Locked-in scores cannot be changed. Your decision may differ from them.
    """
    record = get_record(run, evaluation_id, request.user)
    arguments = entries.lock_in_arguments(record, sent)
    with _explained_conflict(record, request.user):
        blind_scoring.lock_in(evaluation_id=record.pk, reviewer=request.user, **arguments)
    return shapes.record_out(get_record(run, evaluation_id, request.user), request.user)


@operation(
    router,
    "PUT",
    f"{RECORD}/review",
    scope="review",
    response=shapes.SavedOut,
    problems=(*_JSON_PROBLEMS, 404, 409),
)
def review(
    request: ApiRequest,
    run: str,
    evaluation_id: str,
    sent: DecisionIn,
    key: HeaderEx[str, P(alias="Idempotency-Key", min_length=1, max_length=255)],
) -> dict[str, Any]:
    """Submit a decision, or an independent review if the record needs several.

    409 names the person who was first and since when; 422 names the invalid fields.
    """
    record = get_record(run, evaluation_id, request.user)
    submission = uuid.uuid5(_SUBMISSIONS, f"{request.user.pk} {key}")
    with _explained_conflict(record, request.user):
        before = versions.sent_before(submission, record, request.user)
        if before:
            return _saved(_check_same(before, sent))
        if blind_scoring.is_hidden(record, request.user):
            raise Problem(
                HTTPStatus.CONFLICT,
                "This record is reviewed blind. Lock in your scores first (PUT .../blind-scores): then you "
                "see the judge's scores and can decide.",
            )
        blind_scores = blind_scoring.find_locked_in(record, request.user)
        arguments = entries.decision_arguments(record, sent, submission, blind_scores)
        made = decisions.submit(evaluation_id=record.pk, reviewer=request.user, **arguments)
    return _saved(made)


def _register_reading(ending: str) -> None:
    """Let GET of an operation's path return the record whose id ends like the path."""

    @operation(
        router, "GET", f"{RECORD}/{ending}", scope="read", response=shapes.RecordOut, is_in_schema=False
    )
    def read(request: ApiRequest, run: str, evaluation_id: str) -> dict[str, Any]:
        return shapes.record_out(get_record(run, f"{evaluation_id}/{ending}", request.user), request.user)


for _ending in ("claim", "blind-scores", "review"):
    _register_reading(_ending)


def _check_same(before: Review, sent: DecisionIn) -> Review:
    if not entries.is_same_decision(sent, before):
        sentence = "This Idempotency-Key was already used for another decision on this record."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, [("Idempotency-Key", "used before")])
    return before


def _saved(made: Review) -> dict[str, Any]:
    record = Evaluation.objects.get(pk=made.evaluation_id)
    outcome = "disagreement" if record.is_escalated else "independent review"
    return {
        "outcome": "current" if record.review_id == made.pk else outcome,
        "status": record.shown_status,
        "version": record.version,
        "decision": shapes.decision_out(made),
    }


@contextmanager
def _explained_conflict(record: Evaluation, reader: User) -> Iterator[None]:
    """Add to a conflict the person who was first, and since when."""
    try:
        yield
    except Conflict as conflict:
        conflict.members = _first_person(get_record(record.run.name, record.evaluation_id, reader))
        raise


def _first_person(record: Evaluation) -> dict[str, Any]:
    """Return the person who claimed or decided the record, and since when; empty if nobody did."""
    if record.claimed_by and record.in_queue and record.is_claimed:
        return {"who": record.claimed_by.username, "since": claims.claimed_since(record)}
    if record.review:
        return {"who": record.review.reviewer.username, "since": record.review.submitted_at}
    return {}
