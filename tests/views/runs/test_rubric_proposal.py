"""An inferred rubric is a proposal until a lead confirms it."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, Run, User
from reviews.rubric.run_rubric import extend_rubric, run_rubric
from tests.support.factories import RunFactory
from tests.support.pages import text
from tests.support.rubrics import rubric_data, rubric_of

pytestmark = pytest.mark.django_db
NOTICE = "The rubric was inferred from the files. Check it."


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data("depth"))


def run_page(client: Client, run: Run) -> str:
    return text(client.get(reverse("run", args=[run.pk])))


def confirm(client: Client, run: Run, seen: str) -> str:
    address = reverse("confirm-rubric", args=[run.pk])
    return text(client.post(address, {"seen": seen}, follow=True))


def test_run_page_shows_a_proposed_rubric_to_leads_only(as_lea: Client, ana: User, run: Run) -> None:
    assert NOTICE in run_page(as_lea, run)
    as_lea.force_login(ana)
    assert NOTICE not in run_page(as_lea, run)


@pytest.mark.slow
def test_run_without_an_inferred_rubric_has_no_notice(as_lea: Client) -> None:
    empty = RunFactory.create()
    assert NOTICE not in run_page(as_lea, empty)
    assert "Confirm rubric" not in text(as_lea.get(reverse("run-settings", args=[empty.pk])))


@pytest.mark.slow
def test_confirming_declares_the_rubric_as_it_is(as_lea: Client, lea: User, run: Run) -> None:
    seen = as_lea.get(reverse("run-settings", args=[run.pk])).context["seen"]
    assert "Confirm rubric" in text(as_lea.get(reverse("run-settings", args=[run.pk])))
    shown = confirm(as_lea, run, seen)
    assert "is confirmed. Imports do not change it." in shown
    assert NOTICE not in shown
    saved = Run.objects.get()
    assert saved.is_rubric_declared
    assert run_rubric(saved) == rubric_of("depth")
    event = AuditEvent.objects.get()
    assert (event.action, event.actor) == ("declare rubric", lea)
    assert "Confirm rubric" not in text(as_lea.get(reverse("run-settings", args=[run.pk])))


def test_page_with_unsaved_entries_does_not_offer_to_confirm(as_lea: Client, run: Run) -> None:
    address = reverse("run-settings", args=[run.pk])
    assert "Confirm rubric" not in text(as_lea.post(address, {"action": "add criteria"}))


@pytest.mark.slow
def test_rubric_extended_meanwhile_is_not_confirmed(as_lea: Client, run: Run) -> None:
    seen = run_rubric(run).fingerprint
    extend_rubric(run_id=run.pk, found=rubric_of("depth", "style"))
    assert "The rubric has changed since you opened the page." in confirm(as_lea, run, seen)
    assert not Run.objects.get().is_rubric_declared
