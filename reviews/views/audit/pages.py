"""The page of the audit log with its events as sentences, its files, and a check of its chain."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import orjson
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import can, check, people_with_role
from reviews.audit import chain_checks
from reviews.audit.differences import Detail, Difference, list_details, list_differences
from reviews.audit.listing import EventFilter, as_json, event_pages, list_events
from reviews.audit.phrases import phrase_parts
from reviews.database.pagination import Page
from reviews.database.replica import yield_from_replica
from reviews.exports.formats import CONTENT_TYPES, csv_row
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.models import AuditEvent, Evaluation, Import, Run, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs, sees_every_run
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.audit.filters import FilterForm
from reviews.views.shortcuts import page_links, replica_view, requires

PROGRAM = "CogniReview"


class Part(NamedTuple):
    text: str
    #: The target of a link; may be empty.
    url: str = ""


class EventLine(NamedTuple):
    event: AuditEvent
    sentence: Sequence[Part]
    differences: Sequence[Difference]
    details: Sequence[Detail]

    @property
    def text(self) -> str:
        """The sentence without links."""
        return "".join(part.text for part in self.sentence)


class _Rows(NamedTuple):
    """The rows that events name and that still exist, by primary key or username."""

    runs: dict[int, Run]
    records: dict[int, Evaluation]
    sources: dict[int, Import]
    people: dict[str, User]


def event_lines(events: Sequence[AuditEvent], reader: User) -> list[EventLine]:
    """Return the lines of a page of events, with four queries."""
    rows = _load_rows(events, reader)
    page = "person" if can(reader, "manage_people") else "reviewer-activity"
    return [
        EventLine(event, _sentence(event, rows, page), list_differences(event), list_details(event))
        for event in events
    ]


def _load_rows(events: Iterable[AuditEvent], reader: User) -> _Rows:
    runs = Run.objects.visible_to(reader).in_bulk({event.run_id for event in events if event.run_id})
    in_runs = in_visible_runs(reader)
    records = Evaluation.objects.filter(in_runs).defer(*LARGE_COLUMNS)
    sources = Import.objects.filter(in_runs)
    names = {name for event in events if isinstance(name := event.detail.get("username"), str)}
    return _Rows(
        runs,
        records.in_bulk({event.evaluation_id for event in events if event.evaluation_id}),
        sources.in_bulk({event.source_id for event in events if event.source_id}),
        {person.username: person for person in User.objects.filter(username__in=names)},
    )


def _sentence(event: AuditEvent, rows: _Rows, page: str) -> list[Part]:
    actor = event.actor
    who = Part(event.actor_name or PROGRAM, reverse(page, args=[actor.pk]) if actor else "")
    parts = [who, Part(" ")]
    parts += [
        _field(name, event, rows, page) if is_field else Part(name)
        for name, is_field in phrase_parts(event.action)
    ]
    if event.run_name:
        run = rows.runs.get(event.run_id or 0)
        url = reverse("run", args=[run.pk]) if run else ""
        parts += [Part(" in "), Part(event.run_name, url)]
    return parts


def _field(name: str, event: AuditEvent, rows: _Rows, page: str) -> Part:
    if name == "record":
        if record := rows.records.get(event.evaluation_id or 0):
            return Part(record.title, reverse("evaluation", args=[record.pk]))
        return Part(event.record or "a record")
    if name == "source":
        source = rows.sources.get(event.source_id or 0)
        return Part(source.file_name, reverse("import", args=[source.pk])) if source else Part("a file")
    if name == "person":
        username = event.detail.get("username")
        person = rows.people.get(username) if isinstance(username, str) else None
        if person:
            return Part(person.username, reverse(page, args=[person.pk]))
        return Part(str(username or "an unknown name"))
    value = event.detail.get(name)
    return Part(f"{value:,}" if isinstance(value, int) else str(value or "unknown"))


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
