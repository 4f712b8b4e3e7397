"""The inbox of leads: keys, and answers typed before a session ended."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Escalation, User
from reviews.queue import claims
from reviews.review import escalations
from tests.browser.conftest import start_session
from tests.support.factories import PASSWORD, EvaluationFactory, RunFactory
from tests.support.inbox_pages import asked

pytestmark = pytest.mark.django_db(transaction=True)


def test_answer_typed_before_the_session_ended_is_kept_for_its_author(
    page: Page, live_server: LiveServer, ana: User, lea: User, max: User
) -> None:
    asked(RunFactory.create(), ana)
    answer = page.locator("#inbox-pane textarea")

    def sign_in(person: User) -> None:
        page.get_by_label("Username").fill(person.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(answer).to_be_visible()

    for signed_in, kept in ((lea, "Because."), (max, "")):
        start_session(page, live_server.url, lea)
        page.goto(f"{live_server.url}/inbox/")
        answer.fill("Because.")
        Session.objects.all().delete()
        page.get_by_role("button", name="Answer and return to queue").click()
        sign_in(signed_in)
        expect(answer).to_have_value(kept)
    assert Escalation.objects.get().answer == ""


@pytest.mark.exhaustive
def test_keys_move_through_the_inbox_and_settle_an_item_beside_the_list(
    page: Page, live_server: LiveServer, ana: User, lea: User
) -> None:
    for note in ("First?", "Second?", "Third?"):
        record = EvaluationFactory.create()
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        escalations.escalate(
            evaluation_id=record.pk, reviewer=ana, kind="question", reason="question", note=note
        )
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/inbox/")
    pane = page.locator("#inbox-pane")
    expect(pane).to_contain_text("First?")
    page.keyboard.press("j")
    expect(pane).to_contain_text("Second?")
    page.keyboard.press("e")
    page.keyboard.type("Because.")
    page.keyboard.press("Control+Enter")
    expect(pane).to_contain_text("Third?")
    assert Escalation.objects.get(note="Second?").answer == "Because."
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(pane).to_be_hidden()
    expect(page.get_by_placeholder("Your answer")).to_have_count(2)
    expect(page.get_by_placeholder("Your answer").first).to_be_visible()
