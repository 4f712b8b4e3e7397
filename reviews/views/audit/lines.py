"""Audit events as sentences with links."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.urls import reverse

from reviews.accounts.permissions import can
from reviews.audit.differences import Detail, Difference, list_details, list_differences
from reviews.audit.phrases import phrase_parts
from reviews.models import AuditEvent, Evaluation, Import, Run, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs

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
