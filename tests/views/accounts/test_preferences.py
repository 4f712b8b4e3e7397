"""Preferences: theme and shortcuts."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from reviews.accounts.preferences import COMMANDS
from reviews.models import AuditEvent, User
from reviews.queue import claims
from reviews.rubric.score_input import COMMAND_LETTERS
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def posted(**changes: Any) -> dict[str, Any]:
    """Return the form data of the page with changes such as `key_skip="z"`; None omits a field."""
    form = {f"key-{command.name}": command.key.upper() for command in COMMANDS}
    form |= {"theme": "system", "has_shortcuts": "on"}
    form |= {
        name.replace("_", "-") if name.startswith("key") else name: value for name, value in changes.items()
    }
    return {name: value for name, value in form.items() if value is not None}


def save(client: Client, **changes: Any) -> Any:
    return client.post(reverse("preferences"), posted(**changes), follow=True)


def screen(client: Client, person: User) -> str:
    """Return the review screen of a record claimed by the person."""
    record = EvaluationFactory.create()
    claims.claim(evaluation_id=record.pk, reviewer=person)
    return text(client.get(url("evaluation", record)))


def test_theme_is_set_in_the_html_element(as_ana: Client) -> None:
    page = text(save(as_ana, theme="contrast"))
    assert 'data-theme="contrast"' in page
    assert 'data-theme="contrast"' in text(as_ana.get(reverse("runs")))
    assert 'data-theme="system"' in text(Client().get(reverse("login")))


def test_changed_key_is_shown_and_passed_to_the_script(as_ana: Client, ana: User) -> None:
    save(as_ana, key_skip="b")
    page = screen(as_ana, ana)
    assert 'aria-keyshortcuts="B">Skip <kbd aria-hidden="true">B</kbd>' in page
    assert '"skip": "b"' in page
    ana.refresh_from_db()
    assert ana.shortcuts == {"skip": "b"}


def test_shortcuts_can_be_turned_off(as_ana: Client, ana: User) -> None:
    save(as_ana, has_shortcuts=None)
    page = screen(as_ana, ana)
    assert '<script id="key-map" type="application/json">{}</script>' in page
    assert "aria-keyshortcuts" not in page
    assert ">A</kbd>" not in page
    assert "Single-key shortcuts are off" in page


def test_two_commands_can_swap_keys(as_ana: Client, ana: User) -> None:
    save(as_ana, key_skip="f", key_flag="s")
    ana.refresh_from_db()
    assert ana.shortcuts == {"skip": "f", "flag": "s"}
    detail = AuditEvent.objects.get(action="preferences").detail
    assert (detail["before"]["keys"], detail["after"]["keys"]) == ({}, ana.shortcuts)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("a", "A is used for “Submit and next”. Choose another key."),
        ("n", "N scores No. Choose another key."),
        ("1", "Choose one letter from A to Z"),
        ("ß", "Choose one letter from A to Z"),
        ("", "Choose one letter from A to Z"),
        ("zz", "at most 1 character"),
    ],
)
def test_invalid_key_is_rejected_with_reason(as_ana: Client, ana: User, key: str, sentence: str) -> None:
    response = as_ana.post(reverse("preferences"), posted(key_skip=key, theme="dark"))
    assert response.status_code == 422
    assert sentence in text(response)
    ana.refresh_from_db()
    assert (ana.shortcuts, ana.theme) == ({}, "system")


def test_command_is_described_for_records_and_lists() -> None:
    titles = {command.name: command.full_title for command in COMMANDS}
    assert titles["up"] == "Previous criterion; with Shift: view the previous record; in lists: previous row"
    assert (titles["skip"], titles["start"]) == ("Skip (moves to the end of your queue)", "Start reviewing")


def test_score_keys_do_not_collide_with_default_keys() -> None:
    assert {command.key for command in COMMANDS if command.key.isalpha()} <= COMMAND_LETTERS


@pytest.mark.slow
def test_key_hint_goes_after_the_first_decisions(as_ana: Client, ana: User) -> None:
    for _ in range(3):
        assert 'id="key-hint"' in screen(as_ana, ana)
        decide(claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana), ana)
    assert 'id="key-hint"' not in screen(as_ana, ana)


def test_key_hint_can_be_dismissed_for_good(as_ana: Client, ana: User) -> None:
    for _ in range(2):
        assert as_ana.post(reverse("dismiss-key-hint"), headers=HTMX).status_code == 200
    assert 'id="key-hint"' not in screen(as_ana, ana)
    assert AuditEvent.objects.get(action="preferences").detail == {
        "before": {"wants_key_hint": True},
        "after": {"wants_key_hint": False},
    }


class TestNotifications:
    @pytest.fixture(autouse=True)
    def mail_server(self, settings: Settings) -> None:
        settings.SENDS_MAIL = True

    @pytest.mark.slow
    def test_events_are_offered_by_role(self, as_ana: Client, as_lea: Client) -> None:
        assert "Records are assigned to you" in text(as_ana.get(reverse("preferences")))
        assert "Reviewers disagree" not in text(as_ana.get(reverse("preferences")))
        assert "Reviewers disagree" in text(as_lea.get(reverse("preferences")))

    def test_choices_and_address_are_saved(self, as_ana: Client, ana: User) -> None:
        sent = {"event-records.assigned": "daily", "event-escalation.answered": "at once"}
        page = text(save(as_ana, email="ana@example.org", **sent))
        ana.refresh_from_db()
        assert (ana.email, ana.notifications) == ("ana@example.org", {"records.assigned": "daily"})
        assert 'value="daily" id="id_event-records.assigned_2" checked' in page

    @pytest.mark.parametrize(
        "sent", [{"event-records.assigned": "hourly"}, {"event-records.assigned": "daily", "email": "nobody"}]
    )
    def test_invalid_choices_change_nothing(self, sent: dict[str, str], as_ana: Client, ana: User) -> None:
        assert save(as_ana, **sent).status_code == 422
        ana.refresh_from_db()
        assert (ana.email, ana.notifications) == ("", {})

    def test_events_of_other_roles_cannot_be_chosen(self, as_ana: Client, ana: User) -> None:
        save(as_ana, **{"event-disagreement.found": "off"})
        ana.refresh_from_db()
        assert ana.notifications == {}

    def test_site_without_mail_offers_no_choices(self, as_ana: Client, settings: Settings) -> None:
        settings.SENDS_MAIL = False
        page = text(as_ana.get(reverse("preferences")))
        assert "This site sends no e-mail." in page
        assert "event-" not in page
