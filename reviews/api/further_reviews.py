"""Decisions on reviewed records: revise, review independently, adjudicate, and list versions."""

from typing import Any

from ninja import Router

from cognireview.types import operations
from reviews.accounts.permissions import check_revise
from reviews.api import entries, saved_decision, shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.entries import DecisionIn
from reviews.api.evaluations import register_ambiguous_paths
from reviews.api.lookup import get_record
from reviews.api.preconditions import IF_MATCH, only_if_match
from reviews.history.versions import list_versions
from reviews.models import Evaluation, User
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, decisions, independent_reviews
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric

router = Router(tags=["review"])


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
