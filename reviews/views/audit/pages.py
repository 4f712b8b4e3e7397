"""The page of the audit log, its files, and a check of its chain."""

from collections.abc import Iterator

import orjson
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check, people_with_role
from reviews.audit import chain_checks
from reviews.audit.listing import EventFilter, as_json, event_pages, list_events
from reviews.database.pagination import Page
from reviews.database.replica import yield_from_replica
from reviews.exports.formats import CONTENT_TYPES, csv_row
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.models import AuditEvent, Run, User
from reviews.models.runs import sees_every_run
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.access import replica_view, requires
from reviews.views.audit.filters import FilterForm
from reviews.views.audit.lines import EventLine, event_lines
from reviews.views.pagination import page_links

# The newest runs and the first people that the fields suggest.
_SUGGESTED = 200


@replica_view
def audit_log(request: Request) -> HttpResponse:
    """List audit events by filters, newest first, below the state of the chain."""
    check(request.user, "read_audit")
    form = FilterForm(request.GET, request)
    is_valid, after = form.is_valid(), request.GET.get("after", "")
    page: Page[AuditEvent] | None = Page([], "")
    if is_valid:
        try:
            with time_limit():
                page = list_events(form.wanted, request.user, after=after)
        except QueryTooSlow:
            page = None
    address = reverse("audit") + (f"?{form.query}" if form.query else "")
    context = {
        "form": form,
        "status": chain_checks.chain_status(),
        "shows_problems": sees_every_run(request.user),
        "lines": event_lines(page.rows, request.user) if page else [],
        "is_too_slow": page is None,
        "query": form.query,
        "after": after,
        **page_links(address, after, page.next_after if page else ""),
        "people": people_with_role()[:_SUGGESTED],
        "runs": Run.objects.visible_to(request.user).order_by("-created_at", "-pk")[:_SUGGESTED],
    }
    return render(request, "audit/page.html", context, status=200 if is_valid else 422)


@require_safe
def audit_file(request: Request, suffix: str) -> HttpResponse | StreamingHttpResponse:
    """Download the events of all pages as CSV, or as a JSON list."""
    check(request.user, "read_audit")
    form = FilterForm(request.GET, request)
    if not form.is_valid():
        return audit_log(request)
    blocks = _csv(form.wanted, request.user) if suffix == ".csv" else _json(form.wanted, request.user)
    return download(blocks, f"audit{suffix}", content_type=CONTENT_TYPES[suffix])


@require_POST
@requires("read_audit")
def check_chain(request: Request) -> HttpResponse:
    """Check the log in a job."""
    chain_checks.request_check(actor=request.user)
    messages.success(request, "The audit log is being checked. Reload the page to see the result.")
    return redirect("audit")


@yield_from_replica
def _csv(wanted: EventFilter, reader: User) -> Iterator[bytes]:
    yield csv_row(["at", "person", "action", "event", "run", "record", "address", "detail"])
    for rows in event_pages(wanted, reader):
        yield b"".join(map(_csv_line, event_lines(rows, reader)))


def _csv_line(line: EventLine) -> bytes:
    values = as_json(line.event)
    detail = orjson.dumps(values["detail"]).decode()
    names = ("run_name", "record", "address")
    columns = [values["at"], values["actor_name"], values["action"], line.text]
    return csv_row([*columns, *(values[name] for name in names), detail])


@yield_from_replica
def _json(wanted: EventFilter, reader: User) -> Iterator[bytes]:
    separator = b"[\n"
    for rows in event_pages(wanted, reader):
        for event in rows:
            yield separator + orjson.dumps(as_json(event))
            separator = b",\n"
    yield b"[]\n" if separator == b"[\n" else b"\n]\n"
