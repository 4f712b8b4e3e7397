"""Escalations and disagreements: list open ones, resolve, withdraw, and mark answers as read."""

from typing import Any, Literal

from django.http import HttpResponse
from ninja import Field, P, QueryEx, Router

from cognireview.types import leading, operations
from cognireview.types.encoding import encode, members
from reviews.accounts.permissions import Denied
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run, load
from reviews.api.pagination import PAGE_SIZE, After, Limit, link_next, list_by_key
from reviews.api.problems import invalid_field
from reviews.api.values import Note
from reviews.inbox.items import Inbox
from reviews.inbox.kinds import BY_NAME
from reviews.models import Escalation
from reviews.review import answers, escalations
from reviews.review.disagreements import find_disagreements

router = Router(tags=["escalations"])


class ResolveIn(Body):
    """A lead's answer."""

    outcome: Literal["returned", "closed", "upheld"] = Field(
        description="Back to the queue, completed without scores, or the current decision upheld."
    )
    answer: Note = Field(default="", description="May be empty only for disagreements that are not closed.")


@operation(router, operations.ESCALATIONS, scope="read", permission="lead_review", problems=(404,))
def list_escalations(
    request: ApiRequest,
    response: HttpResponse,
    *,
    kind: Literal["question", "disagreement"] = "question",
    run: str = "",
    after: QueryEx[int, P(ge=0, lt=2**63)] = 0,
    limit: Limit = PAGE_SIZE,
) -> dict[str, Any]:
    """List open questions or disagreements, the oldest first. Leads and admins only.

    `question` includes records that a reviewer cannot judge. `after` is `next` of the previous page.
    """
    inbox = Inbox(request.user, get_run(run, request.user) if run else None)
    items, next_after = inbox.page(BY_NAME[kind], after or None, limit)
    rows = [item.row for item in items]
    points = find_disagreements([row.evaluation_id for row in rows], request.user)
    return {
        "escalations": [_shape(row, points.get(row.evaluation_id)) for row in rows],
        "total": inbox.counts[kind],
        "next": link_next(request, response, next_after),
    }


@operation(router, operations.OWN_ESCALATIONS, scope="read")
def list_own_escalations(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = 20
) -> list[dict[str, Any]]:
    """List your escalations with their answers, the newest first."""
    found = answers.own_questions(request.user)
    return [_shape(row) for row in list_by_key(request, response, found, after=after, limit=limit)]


@operation(router, operations.RESOLVE_ESCALATION, scope="review", permission="lead_review", problems=(409,))
def resolve_escalation(request: ApiRequest, escalation_id: int, sent: ResolveIn) -> dict[str, Any]:
    """Resolve an escalation as a lead. To decide the record instead, claim and review it."""
    raised = load(Escalation, escalation_id, request.user)
    if not sent.answer and (raised.kind != Escalation.Kind.DISAGREEMENT or sent.outcome == "closed"):
        raise invalid_field("answer", "Enter an answer.")
    escalations.resolve(escalation_id=raised.pk, actor=request.user, outcome=sent.outcome, answer=sent.answer)
    return _shape(load(Escalation, escalation_id, request.user))


@operation(router, operations.WITHDRAW_ESCALATION, scope="review", problems=(409,))
def withdraw_escalation(request: ApiRequest, escalation_id: int) -> None:
    """Withdraw your escalation, and claim the record again."""
    raised = load(Escalation, escalation_id, request.user)
    escalations.withdraw(escalation_id=raised.pk, actor=request.user)


@operation(router, operations.MARK_ANSWER_READ, scope="review")
def mark_answer_read(request: ApiRequest, escalation_id: int) -> None:
    """Mark the answer to your escalation as read."""
    raised = load(Escalation, escalation_id, request.user)
    if raised.raised_by_id != request.user.pk:
        raise Denied("Only the person who escalated this record can mark its answer as read.")
    answers.mark_read(escalation_id=raised.pk, actor=request.user)


def _shape(raised: Escalation, disagreement: leading.Disagreement | None = None) -> dict[str, Any]:
    return members(
        leading.Escalation,
        raised,
        evaluation_id=raised.evaluation.evaluation_id,
        disagreement=encode(leading.Disagreement, disagreement),
    )
