"""The events of which people and webhooks are notified, and when each person wants to know."""

import datetime as dt
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import can
from reviews.audit import events
from reviews.days import midnight
from reviews.models import User

# The hour (UTC) of the daily digest.
DIGEST_HOUR = 6


class When(StrEnum):
    """When a person is mailed about an event."""

    OFF = "off"
    AT_ONCE = "at once"
    DAILY = "daily"


class EventType(NamedTuple):
    """An event of which people and webhooks are notified."""

    #: The description in the preferences.
    title: str
    #: The permission of the people whom it concerns.
    permission: str
    #: When people are notified who have not chosen.
    default: When


EVENTS: dict[str, EventType] = {
    "escalation.opened": EventType("A record is sent to a lead", "lead_review", When.AT_ONCE),
    "escalation.answered": EventType("A lead answers your question", "review_evaluation", When.AT_ONCE),
    "disagreement.found": EventType("Reviewers disagree", "lead_review", When.DAILY),
    "records.assigned": EventType("Records are assigned to you", "review_evaluation", When.AT_ONCE),
    "records.due": EventType("Your records are due tomorrow", "review_evaluation", When.AT_ONCE),
    "conflicts.found": EventType("A file conflicts with decisions", "resolve_conflict", When.DAILY),
    "import.failed": EventType("An import fails", "export_run", When.AT_ONCE),
    "export.failed": EventType("An export fails", "export_run", When.AT_ONCE),
    "run.reviewed": EventType("A run is reviewed", "lead_review", When.DAILY),
    "plan.reviewed": EventType("The records of a plan are reviewed", "configure_run", When.DAILY),
    "rubric.inferred": EventType("A rubric waits for confirmation", "configure_run", When.DAILY),
}
# Name -> description of events to webhooks: of events that concern one person, and of those without mail.
_OF_WEBHOOKS = {
    "escalation.answered": "A lead answers a question",
    "records.assigned": "Records are assigned to a person",
    "records.due": "Assigned records are due tomorrow",
    "record.decided": "A record has a new current decision",
    "import.finished": "An import is done",
    "export.ready": "An export can be downloaded",
}
# Name -> description of all events of webhooks.
WEBHOOK_EVENTS = {name: event.title for name, event in EVENTS.items()} | _OF_WEBHOOKS


def offered_to(person: User) -> dict[str, EventType]:
    """Return the events that concern a person by their role."""
    return {name: event for name, event in EVENTS.items() if can(person, event.permission)}


def choice(person: User, event: str) -> When:
    """Return when a person wants to be mailed about an event."""
    return When(person.notifications.get(event, EVENTS[event].default))


@transaction.atomic
def choose(*, person: User, choices: Mapping[str, When], email: str | None = None) -> None:
    """Save when a person is mailed about events, and their address unless it is None.

    Events without a choice keep theirs.
    """
    before = person.notifications
    chosen = {**before, **choices}
    person.notifications = {
        name: str(when) for name, when in chosen.items() if name in EVENTS and when != EVENTS[name].default
    }
    has_new_address = email is not None and email != person.email
    person.email = person.email if email is None else email
    person.save(update_fields=["notifications", "email"])
    events.record(
        "preferences",
        actor=person,
        before={"notifications": before},
        after={"notifications": person.notifications},
        has_new_address=has_new_address,
    )


def due_at(when: When) -> dt.datetime:
    """Return when a notification is due that is created now."""
    now = timezone.now()
    if when != When.DAILY:
        return now
    digest = midnight(now.astimezone(dt.UTC).date()) + dt.timedelta(hours=DIGEST_HOUR)
    return digest if digest > now else digest + dt.timedelta(days=1)
