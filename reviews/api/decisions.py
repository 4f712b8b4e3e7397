"""Reviews by programs: claim the next record, decide, revise, review independently, and list versions.

Retrying with the same Idempotency-Key stores a decision once. A blind record needs locked-in scores first,
as on the screen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from ninja import Field, Router, Status

from cognireview.types import operations
from reviews.accounts.permissions import check_revise
from reviews.api import entries, saved_decision, shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.entries import BlindIn, DecisionIn
from reviews.api.evaluations import FilterValues, read_filters, register_ambiguous_paths
from reviews.api.lookup import get_record, get_run
from reviews.api.preconditions import IF_MATCH, only_if_match, set_etag
from reviews.api.problems import Problem
from reviews.database.statements import prepared_statements
from reviews.history.versions import list_versions
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, decisions, independent_reviews
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric

router = Router(tags=["review"])


class ClaimIn(Body):
    """Filters as on the page of the run; several values as a list."""

    filters: FilterValues = Field(default={})


@operation(router, operations.CLAIM, scope="review")
@prepared_statements()
def claim_next_record(
    request: ApiRequest, response: HttpResponse, run: str, wanted: ClaimIn | None = None
) -> Status[Any]:
    """Claim the next available record, or return the one you have claimed already; 204 if none is left.

    It is reserved for you until `claimed_until`.
    """
    filters = read_filters(wanted.filters if wanted else {})
    # Claiming a record changes these two.
    filters = filters.with_only("status", "").with_only("claimed-by", "")
    found = get_run(run, request.user)
    condition = filters.condition(found, request.user)
    claimed = claims.claim_next(run=found, reviewer=request.user, condition=condition)
    if claimed is None:
        return Status(204, None)
    return Status(200, set_etag(response, shapes.record_out(claimed, request.user)))


@operation(router, operations.LOCK_IN, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@only_if_match
def lock_in_blind_scores(
    request: ApiRequest, response: HttpResponse, run: str, evaluation_id: str, sent: BlindIn
) -> dict[str, Any]:
    """Lock in blind scores on a record you have claimed. The response contains the judge's scores.

    Locked-in scores cannot be changed. Your decision may differ from them.
    """
    record = get_record(run, evaluation_id, request.user)
    arguments = entries.lock_in_arguments(record, sent)
    with _explained_conflict(record, request.user):
        blind_scoring.lock_in(evaluation_id=record.pk, reviewer=request.user, **arguments)
    record = get_record(run, evaluation_id, request.user)
    return set_etag(response, shapes.record_out(record, request.user))


@operation(router, operations.REVIEW, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@saved_decision.waits_for_first_request
@only_if_match
@prepared_statements()
def submit_review(
    request: ApiRequest, run: str, evaluation_id: str, sent: DecisionIn, key: saved_decision.IdempotencyKey
) -> dict[str, Any]:
    """Submit a decision, or an independent review if the record needs several.

    409 names the person who was first and since when; 422 names the invalid fields.
    """
    submission = saved_decision.submission_of(request.user, key)
    record = get_record(run, evaluation_id, request.user, submission=submission)
    with _explained_conflict(record, request.user):
        if vars(record)["is_repeated"] and (
            before := saved_decision.saved_before(submission, record, request.user, sent)
        ):
            return before
        if blind_scoring.is_hidden(record, request.user):
            raise Problem(
                HTTPStatus.CONFLICT,
                "This record is reviewed blind. Lock in your scores first (PUT .../blind-scores): then you "
                "see the judge's scores and can decide.",
                slug="blind-scores-missing",
            )
        has_locked_in = vars(record)["has_locked_in"]
        blind_scores = blind_scoring.find_locked_in(record, request.user) if has_locked_in else None
        others = independent_reviews.readable_for_adjudication(record, request.user)
        arguments = entries.decision_arguments(record, sent, submission, blind_scores, others)
        made = decisions.submit(evaluation_id=record.pk, reviewer=request.user, **arguments)
    return saved_decision.saved_out(made)


register_ambiguous_paths(router, "blind-scores", "review")


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


@operation(router, operations.REVISE, scope="review", problems=(409, 412), parameters=[IF_MATCH])
@saved_decision.waits_for_first_request
@only_if_match
def revise_decision(
    request: ApiRequest, run: str, evaluation_id: str, sent: DecisionIn, key: saved_decision.IdempotencyKey
) -> dict[str, Any]:
    """Replace the current decision: your own, or as a lead anybody's. No claim is needed."""
    record = get_record(run, evaluation_id, request.user)
    check_revise(request.user, record)
    submission = saved_decision.submission_of(request.user, key)
    if before := saved_decision.saved_before(submission, record, request.user, sent):
        return before
    if not record.is_decided:
        raise Conflict("This record is in the queue, so there is no decision to revise.")
    arguments = entries.decision_arguments(record, sent, submission, None)
    return saved_decision.saved_out(
        decisions.revise(evaluation_id=record.pk, reviewer=request.user, **arguments)
    )


@operation(
    router, operations.ADD_INDEPENDENT_REVIEW, scope="review", problems=(409, 412), parameters=[IF_MATCH]
)
@saved_decision.waits_for_first_request
@only_if_match
def add_independent_review(
    request: ApiRequest, run: str, evaluation_id: str, sent: DecisionIn, key: saved_decision.IdempotencyKey
) -> dict[str, Any]:
    """Add an independent review to a record that somebody else decided first.

    The decision stays current. If the scores differ, a lead decides.
    """
    record = get_record(run, evaluation_id, request.user)
    submission = saved_decision.submission_of(request.user, key)
    if before := saved_decision.saved_before(submission, record, request.user, sent):
        return before
    if not record.is_decided:
        raise Conflict("This record is no longer decided. Submit your review instead.")
    locked_in = blind_scoring.find_locked_in(record, request.user)
    arguments = entries.decision_arguments(record, sent, submission, locked_in)
    return saved_decision.saved_out(
        independent_reviews.add(evaluation_id=record.pk, reviewer=request.user, **arguments)
    )


@operation(router, operations.ADJUDICATE, scope="review", permission="lead_review", problems=(409,))
def adjudicate_record(request: ApiRequest, run: str, evaluation_id: str) -> list[dict[str, Any]]:
    """Claim a record as a lead, to decide it with the independent reviews submitted so far.

    The response contains them. You can submit no independent review of the record afterwards. Where
    the reviews differ already, claim the record instead.
    """
    record = get_record(run, evaluation_id, request.user)
    independent_reviews.take_over(evaluation_id=record.pk, actor=request.user)
    return _readable(get_record(run, evaluation_id, request.user), request.user)


@operation(router, operations.INDEPENDENT_REVIEWS, scope="review", permission="lead_review")
def list_independent_reviews(request: ApiRequest, run: str, evaluation_id: str) -> list[dict[str, Any]]:
    """List the independent reviews of a record that you adjudicate, the oldest first. Leads and admins only.

    The list is empty until you claim the record.
    """
    return _readable(get_record(run, evaluation_id, request.user), request.user)


def _readable(record: Evaluation, reader: User) -> list[dict[str, Any]]:
    found = independent_reviews.readable_for_adjudication(record, reader)
    return [shapes.decision_out(one.review) for one in found]


@operation(router, operations.DECISIONS, scope="read")
def list_decisions(request: ApiRequest, run: str, evaluation_id: str) -> list[dict[str, Any]]:
    """List the versions of the decision on a record, the latest first.

    Open independent reviews of others are left out. 403 while you review the record blind.
    """
    record = get_record(run, evaluation_id, request.user)
    blind_scoring.check_shown(record, request.user)
    rubric = run_rubric(record.run)
    found = list_versions(record, read_proposals(record, rubric), rubric, reader=request.user)
    shown = [{**shapes.decision_out(one.review), "state": one.state} for one in found]
    if independent_reviews.are_collected(record):
        # The number of a version would reveal how many reviews there are.
        return [one | {"version": None} for one in shown]
    return shown


register_ambiguous_paths(router, "revision", "independent-review", "adjudication")
