"""The audit log."""

from django.http import StreamingHttpResponse
from ninja import P, QueryEx, Router

from reviews.accounts.permissions import check
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSONL
from reviews.api.lookup import get_run
from reviews.audit import log
from reviews.http.streaming import download

router = Router(tags=["audit"])


@operation(router, "GET", "/audit", scope="read", response={200: None}, files=[JSONL], problems=(404,))
def audit(
    request: ApiRequest, run: str = "", after: QueryEx[int, P(ge=0, lt=2**63)] = 0
) -> StreamingHttpResponse:
    """Return the audit log as JSONL, from the entry after a position. Leads and admins only.

    With `run`, events of other runs are digests, so that the chain can still be verified. Independent reviews
    and blind scores of others are digests, too, if you may still review their records independently.
    """
    check(request.user, "read_audit")
    run_id = get_run(run, request.user).pk if run else None
    return download(log.jsonl_lines(run_id, after=after, reader=request.user), "audit.jsonl")
