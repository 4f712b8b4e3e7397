"""List audit events by filters, newest first, with cursor pagination.

Each filter has an index in the order of the list, so a page costs the same at any length of the log. Nothing
counts the events.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT

from reviews.audit.reveals import independent_reviews_hidden_from
from reviews.database.pagination import Page, split_page
from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.models.runs import sees_every_run

# Actions whose events contain a reviewer's scores.
_WITH_SCORES = ("independent review", "blind scores")
# Uploads and imports have no run until a line is accepted, and name the file.
_IS_OF_NO_RUN = Q(run=None, source=None) & ~Q(action__startswith="upload")


def visible_events(events: "QuerySet[AuditEvent]", reader: User) -> "QuerySet[AuditEvent]":
    """Return the events that a person may read.

    Left out are events of runs that are hidden from them, also of deleted runs, and events with the scores of
    others on records that they may still review independently.
    """
    undecided = Evaluation.objects.filter(independent_reviews_hidden_from(reader), pk=OuterRef("evaluation"))
    by_others = Q(action__in=_WITH_SCORES) & ~Q(actor=reader)
    found = events.exclude(by_others & Exists(undecided))
    if not sees_every_run(reader):
        found = found.filter(Q(run__in=Run.objects.visible_to(reader).values("pk")) | _IS_OF_NO_RUN)
    return found


PAGE_SIZE = 50
_EXPORT_PAGE = 2_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
# Microseconds since 1970 and the primary key of the last event of the previous page.
_CURSOR = re.compile(r"([0-9]{1,17})\.([0-9]{1,18})")


@dataclass(frozen=True)
class EventFilter:
    """The events to list. Unset filters match every event."""

    #: The person who acted, or whose account the event is about.
    person: User | None = None
    #: Any of these actions; all actions if empty.
    actions: Sequence[str] = ()
    #: The primary key of a run, also of a deleted one.
    run: int | None = None
    #: An evaluation_id.
    record: str = ""
    #: The IP address of the client.
    address: str = ""
    #: From this time on.
    since: dt.datetime | None = None
    #: Before this time.
    until: dt.datetime | None = None


class _Place(NamedTuple):
    """The last event of a page."""

    at: dt.datetime
    key: int


def list_events(
    wanted: EventFilter, reader: User, *, after: str = "", size: int | None = None
) -> Page[AuditEvent]:
    """Load a page of events that the reader may see, with their actors, runs, imports and records.

    An invalid cursor in `after` gives the first page.
    """
    place, size = _read_cursor(after), size or PAGE_SIZE
    events = visible_events(AuditEvent.objects.select_related("actor").order_by("-at", "-pk"), reader)
    found = chain.from_iterable(_before(rows, place)[: size + 1] for rows in _matching(wanted, events))
    newest = nlargest(size + 1, found, key=lambda event: (event.at, event.pk))
    return split_page(newest, size, lambda event: f"{(event.at - _EPOCH) // _MICROSECOND}.{event.pk}")


def event_pages(wanted: EventFilter, reader: User) -> Iterator[list[AuditEvent]]:
    """Yield every event of the filter, newest first, in long pages."""
    page = list_events(wanted, reader, size=_EXPORT_PAGE)
    yield page.rows
    while page.next_after:
        page = list_events(wanted, reader, after=page.next_after, size=_EXPORT_PAGE)
        yield page.rows


def as_json(event: AuditEvent) -> dict[str, Any]:
    """Return an event with the keys of the exported log."""
    return {
        "id": event.pk,
        "at": f"{event.at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "actor": event.actor_id,
        "actor_name": event.actor_name,
        "address": event.address,
        "action": event.action,
        "run": event.run_id,
        "run_name": event.run_name,
        "import": event.source_id,
        "evaluation": event.evaluation_id,
        "record": event.record,
        "detail": event.detail,
    }


def find_run(name: str, reader: User) -> int | None:
    """Return the key of the run of that name that the reader may see. Admins also find a deleted run."""
    run = Run.objects.visible_to(reader).filter(name=name).values_list("pk", flat=True).first()
    return run if run or not sees_every_run(reader) else deleted_run(name)


def deleted_run(name: str) -> int | None:
    """Return the key of the last deleted run with a name."""
    deletions = AuditEvent.objects.filter(action="delete run", run_name=name).order_by("-pk")
    return deletions.values_list("run", flat=True).first()


def _matching(wanted: EventFilter, rows: "QuerySet[AuditEvent]") -> "list[QuerySet[AuditEvent]]":
    """Return disjoint queries for the events. One query for "acted or is concerned" could use no index."""
    if wanted.actions:
        rows = rows.filter(action__in=wanted.actions)
    if wanted.run is not None:
        rows = rows.filter(run=wanted.run)
    if wanted.record:
        rows = rows.filter(record=wanted.record)
    if wanted.address:
        rows = rows.filter(address=wanted.address)
    if wanted.since:
        rows = rows.filter(at__gte=wanted.since)
    if wanted.until:
        rows = rows.filter(at__lt=wanted.until)
    if not wanted.person:
        return [rows]
    about = rows.alias(username=KT("detail__username")).filter(detail__has_key="username")
    about = about.filter(username=wanted.person.username)
    return [rows.filter(actor=wanted.person), about.exclude(actor=wanted.person)]


def _before(rows: "QuerySet[AuditEvent]", place: _Place | None) -> "QuerySet[AuditEvent]":
    if place is None:
        return rows
    return rows.filter(at__lte=place.at).exclude(at=place.at, pk__gte=place.key)


def _read_cursor(text: str) -> _Place | None:
    found = _CURSOR.fullmatch(text)
    if not found:
        return None
    moment, key = map(int, found.groups())
    try:
        return _Place(_EPOCH + moment * _MICROSECOND, key)
    except OverflowError:
        return None
