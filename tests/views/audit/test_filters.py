"""Filters of the audit log."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.audit import events
from reviews.database.statements import execute
from reviews.models import Evaluation, Run, User
from tests.support.pages import text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def seal() -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_filter_keeps_matching_events_and_leaves_out_others(
    decided: Evaluation, as_lea: Client, bo: User
) -> None:
    for query in (
        "person=ana",
        "person=ANA",
        "action=submit",
        "action=group:Decisions",
        "run=Algebra+%26+more",
        "address=",
    ):
        assert " submitted " in text(as_lea.get(f"{reverse('audit')}?{query}")), query
    for query in (
        "person=bo",
        "action=claim",
        "action=group:Logins",
        "record=x",
        "address=192.0.2.1",
        "since=2999-01-01",
    ):
        page = text(as_lea.get(f"{reverse('audit')}?{query}"))
        assert " submitted " not in page, query
        assert "No events match these filters." in page, query


def test_invalid_filter_is_explained(as_lea: Client) -> None:
    for query, sentence in {
        "person=nobody": "No person has the username",
        "run=missing": "No run is named",
        "action=fly": "Select a valid choice",
        "address=localhost": "Enter a valid IPv4 or IPv6 address",
        "since=yesterday": "Enter a date, such as 2026-11-21.",
        "until=9999-12-31": "is not in the years from 1900 to 9998",
        "since=2026-02-02&until=2026-02-01": "This date is before the first one.",
        "until=2026-12-31&record=%00": "Null characters are not allowed",
    }.items():
        for name in ("audit", "audit-csv", "audit-json") if query == "run=missing" else ("audit",):
            response = as_lea.get(f"{reverse(name)}?{query}")
            assert response.status_code == 422, (name, query)
            assert sentence in text(response), (name, query)


def test_day_begins_in_the_readers_time_zone(run: Run, as_lea: Client, lea: User) -> None:
    event = events.record("archive run", actor=lea, run=run)
    seal()
    execute("ALTER TABLE audit_event DISABLE TRIGGER USER")
    execute("UPDATE audit_event SET at = '2026-03-01 20:00Z' WHERE id = %s", [event.pk])
    day = f"{reverse('audit')}?since=2026-03-02&until=2026-03-02"
    assert " archived the run" not in text(as_lea.get(day))
    as_lea.cookies["timezone"] = "Asia/Tokyo"
    assert " archived the run" in text(as_lea.get(day))


def test_pages_keep_the_filters(run: Run, as_lea: Client, lea: User) -> None:
    for _ in range(51):
        events.record("archive run", actor=lea, run=run)
    page = text(as_lea.get(f"{reverse('audit')}?action=archive+run"))
    [after] = [part.split('"')[0] for part in page.split("action=archive+run&amp;after=")[1:]]
    second = text(as_lea.get(f"{reverse('audit')}?action=archive+run&after={after}"))
    assert (page.count(" archived the run"), second.count(" archived the run")) == (50, 1)
