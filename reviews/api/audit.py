"""The audit events, with their seals."""

from django.http import StreamingHttpResponse
from ninja import P, QueryEx, Router

from reviews.accounts.permissions import check
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSONL
from reviews.api.lookup import get_run
from reviews.audit import log
from reviews.http.streaming import download

router = Router(tags=["audit"])


@operation(router, "GET", "/audit", scope="read", response={200: None}, file=JSONL, problems=(404,))
def audit(
    request: ApiRequest, run: str = "", after: QueryEx[int, P(ge=0, lt=2**63)] = 0
) -> StreamingHttpResponse:
    """The audit log as JSONL, in the order of its seals, behind a position; for leads and admins.

    Of a run, the events of others are there as digests, so that the chain can be checked. So are independent
    reviews and blind scores of others on records of which you may still give an independent review.
    """
    check(request.user, "read_audit")
    return download(
        log.jsonl_lines(get_run(run) if run else None, after=after, reader=request.user), "audit.jsonl"
    )
