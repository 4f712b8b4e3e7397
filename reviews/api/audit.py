"""The audit log and the checks of its chain."""

import datetime as dt
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from ninja import P, QueryEx, Router

from cognireview.types import audit, operations
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSONL
from reviews.api.lookup import get_run
from reviews.api.pagination import PAGE_SIZE, Limit, link_next
from reviews.api.problems import Problem, invalid_field
from reviews.audit import chain_checks, log
from reviews.audit.listing import EventFilter, as_json, find_run, list_events
from reviews.audit.phrases import PHRASES
from reviews.http.streaming import download
from reviews.models import User
from reviews.models.runs import sees_every_run
from reviews.search.listing import time_limit

router = Router(tags=["audit"])
_NO_NUL = P(pattern="^[^\x00]*$")
Text = QueryEx[str, _NO_NUL]


@operation(
    router, operations.AUDIT_LOG, scope="read", permission="read_audit", files=[JSONL], problems=(404,)
)
def export_audit_log(
    request: ApiRequest, run: str = "", after: QueryEx[int, P(ge=0, lt=2**63)] = 0
) -> StreamingHttpResponse:
    """Return the audit log as JSONL, from the entry after a position. Leads and admins only.

    With `run`, events of other runs are digests, so that the chain can still be verified. Independent reviews
    and blind scores of others are digests, too, if you may still review their records independently.
    """
    run_id = get_run(run, request.user).pk if run else None
    return download(log.jsonl_lines(run_id, after=after, reader=request.user), "audit.jsonl")


@operation(router, operations.AUDIT_EVENTS, scope="read", permission="read_audit", problems=(404,))
def list_audit_events(
    request: ApiRequest,
    response: HttpResponse,
    *,
    person: Text = "",
    action: QueryEx[str, P(enum=["", *PHRASES])] = "",
    run: Text = "",
    record: Text = "",
    address: IPv4Address | IPv6Address | None = None,
    since: dt.datetime | None = None,
    until: dt.datetime | None = None,
    after: Text = "",
    limit: Limit = PAGE_SIZE,
) -> dict[str, Any]:
    """List audit events, newest first, with the filters of the page in the browser. Leads and admins only.

    `person` finds events by a person and about their account. `since` is inclusive, `until` is not; times
    without a zone are UTC. `after` is `next` of the previous page. Events of runs that you cannot see are
    left out, and scores of others on records that you may still review independently.
    """
    if action and action not in PHRASES:
        raise invalid_field("action", "Unknown action.")
    wanted = EventFilter(
        person=_find_person(person),
        actions=[action] if action else [],
        run=_find_run(run, request.user),
        record=record,
        address=str(address or ""),
        since=_with_zone(since),
        until=_with_zone(until),
    )
    with time_limit():
        page = list_events(wanted, request.user, after=after, size=limit)
    return {
        "events": [as_json(event) for event in page.rows],
        "next": link_next(request, response, page.next_after),
    }


def _find_person(name: str) -> User | None:
    found = User.objects.filter(username__iexact=name).first() if name else None
    if name and found is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"No person has the username {name!r}.")
    return found


def _find_run(name: str, reader: User) -> int | None:
    found = find_run(name, reader) if name else None
    if name and found is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"No run is named {name!r}.")
    return found


def _with_zone(moment: dt.datetime | None) -> dt.datetime | None:
    return moment.replace(tzinfo=dt.UTC) if moment and moment.tzinfo is None else moment


@operation(router, operations.CHAIN, scope="read", permission="read_audit")
def get_audit_chain(request: ApiRequest) -> dict[str, Any]:
    """Return the state of the audit log and its checks. Leads and admins only."""
    return _chain(request.user)


@operation(router, operations.CHECK_CHAIN, scope="configure", permission="read_audit", status=202)
def check_audit_chain(request: ApiRequest) -> dict[str, Any]:
    """Check the audit log in a job, unless a check is running. Leads and admins only."""
    chain_checks.request_check(actor=request.user)
    return _chain(request.user)


def _chain(reader: User) -> dict[str, Any]:
    found, shows_problems = chain_checks.chain_status(), sees_every_run(reader)
    checks = {
        name: one and members(audit.ChainCheck, one, problems=one.problems if shows_problems else [])
        for name, one in (("last", found.last), ("running", found.running))
    }
    return members(audit.Chain, found, **checks)
