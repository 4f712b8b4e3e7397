"""The inbox: everything that waits for a lead or an admin, and failed jobs to retry or dismiss."""

from typing import Any

from django.http import Http404, HttpResponse
from ninja import P, QueryEx, Router

from cognireview.types import leading, operations
from cognireview.types.encoding import members
from reviews.accounts.permissions import check
from reviews.api.auth import ApiRequest, operation
from reviews.api.lookup import get_run
from reviews.api.pagination import link_next
from reviews.inbox import jobs
from reviews.inbox.items import PAGE_SIZE, SHOWN, Inbox, Item
from reviews.inbox.kinds import BY_NAME, KINDS
from reviews.inbox.place import Place
from reviews.models import Escalation, KnownAnswer, Run, SpotCheck
from reviews.records.conflicts import Conflict

router = Router(tags=["inbox"])


@operation(router, operations.INBOX, scope="read", permission="lead_review", problems=(404,))
def list_inbox_items(
    request: ApiRequest,
    response: HttpResponse,
    *,
    kind: leading.InboxKind | None = None,
    run: str = "",
    after: QueryEx[int, P(ge=0, lt=2**63)] = 0,
    limit: QueryEx[
        int | None,
        P(ge=1, le=200, description="The largest number of items of a kind. By default, 50 or ten."),
    ] = None,
) -> dict[str, Any]:
    """List what waits for you, of one run or of all. Leads and admins only.

    Without a `kind`, the ten oldest items of each kind; with it, 50 items, with `after` as the cursor.
    """
    inbox = Inbox(request.user, get_run(run, request.user) if run else None)
    next_after = ""
    if kind:
        items, next_after = inbox.page(BY_NAME[kind], after or None, limit or PAGE_SIZE)
    else:
        items = [item for group in inbox.groups(limit or SHOWN) for item in group.items]
    return {
        "counts": {one.name: inbox.counts[one.name] for one in KINDS},
        "items": [_shape(item) for item in items],
        "next": link_next(request, response, next_after),
    }


@operation(router, operations.RETRY_FAILURE, scope="configure", permission="lead_review", problems=(409,))
def retry_inbox_failure(request: ApiRequest, place: str) -> None:
    """Enqueue a failed job again: an import, an export, e-mails to a person, or messages to a webhook."""
    item = _failure(request, place)
    if not jobs.can_retry(item):
        raise Conflict("This file cannot be imported as it is. Correct it and upload it again.")
    jobs.retry(item=item, actor=request.user)


@operation(router, operations.DISMISS_FAILURE, scope="configure", permission="lead_review")
def dismiss_inbox_failure(request: ApiRequest, place: str) -> None:
    """Take a failed job out of the inbox. E-mails that could not be sent are discarded."""
    jobs.dismiss(item=_failure(request, place), actor=request.user)


def _failure(request: ApiRequest, text: str) -> Item:
    """Return the failed job at a place. Raises `Denied` and `Http404`."""
    place = Place.parse(text)
    if place is None or place.kind not in jobs.JOBS:
        raise Http404
    check(request.user, BY_NAME[place.kind].permission)
    item = Inbox(request.user).find(place)
    if item is None:
        raise Http404
    return item


def _shape(item: Item) -> dict[str, Any]:
    row = item.row
    record = None
    if isinstance(row, SpotCheck | Escalation | KnownAnswer):
        record = row.review.evaluation if isinstance(row, SpotCheck) else row.evaluation
    run = row if isinstance(row, Run) else record.run if record else getattr(row, "run", None)
    return members(
        leading.InboxItem,
        item,
        place=str(Place(item.kind.name, item.place.position)),
        kind=item.kind.name,
        id=row.pk,
        run=run.name if run else None,
        evaluation_id=record.evaluation_id if record else None,
        can_retry=item.kind.name in jobs.JOBS and jobs.can_retry(item),
    )
