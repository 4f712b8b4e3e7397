"""Checks with known answers: list them with their figures, start and end them."""

from typing import Any

from django.http import HttpResponse
from ninja import Field, Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run, load
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.dashboard.known_answers import as_json, visible_checks
from reviews.models import KnownAnswerCheck
from reviews.review import known_answers

router = Router(tags=["known answers"])


class StartCheckIn(Body):
    """A new check."""

    count: int = Field(ge=1, le=known_answers.MOST_RECORDS)


@operation(router, operations.KNOWN_ANSWERS, scope="read", permission="lead_review")
def list_known_answer_checks(
    request: ApiRequest, run: str, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the checks of a run, the newest first. Leads and admins only.

    While a check runs, only the lead who started it sees it: other leads may be given its records.
    """
    found = visible_checks(request.user).filter(run=get_run(run, request.user))
    return [as_json(one) for one in list_by_key(request, response, found, after=after, limit=limit)]


@operation(router, operations.START_KNOWN_ANSWERS, scope="review", permission="lead_review", problems=(409,))
def start_known_answers(request: ApiRequest, run: str, sent: StartCheckIn) -> dict[str, Any]:
    """Start a check. You give the known answers: claim and decide the records that the inbox lists."""
    found = get_run(run, request.user)
    started = known_answers.start(run_id=found.pk, actor=request.user, count=sent.count)
    return as_json(load(KnownAnswerCheck, started.pk, request.user))


@operation(router, operations.END_KNOWN_ANSWERS, scope="review", permission="lead_review", problems=(409,))
def end_known_answers(request: ApiRequest, check_id: int) -> dict[str, Any]:
    """End a check. The known answers become the decisions of its records."""
    found = load(KnownAnswerCheck, check_id, request.user)
    known_answers.end(check_id=found.pk, actor=request.user)
    return as_json(load(KnownAnswerCheck, check_id, request.user))
