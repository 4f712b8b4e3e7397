"""Drafts survive that another reviewer claims or decides the record."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Draft, Review, User
from reviews.queue import claims
from tests.browser.screen import comment, draft_is, heading, press, record, settle, wait_until_gone
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.exhaustive
def test_draft_survives_claim_by_another_reviewer(screen: Page, ana: User, bo: User) -> None:
    first = record("a-model")
    claims.release(evaluation_id=first.pk, actor=ana)
    claims.claim(evaluation_id=first.pk, reviewer=bo)
    press(screen, "c")
    screen.keyboard.type("I was here.")
    alert = screen.get_by_role("alert")
    expect(alert).to_contain_text("bo has been reviewing this since")
    expect(alert).to_contain_text("your work is kept.")
    draft_is(screen, "failing")
    assert not Draft.objects.exists()
    with screen.expect_response("**/draft/"):  # the form that comes back is saved as a draft
        press(screen, "Control+Enter")
    draft_is(screen, "failing")
    heading(screen, "a-model")
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    assert not Review.objects.exists()
    expect(screen.get_by_role("button", name="Next record")).to_have_count(1)
    expect(alert).to_have_count(1)
    press(screen, "Escape", "z")
    heading(screen, "b-model")


@pytest.mark.usefixtures("_hurried")
def test_draft_of_a_record_that_somebody_else_has_decided_is_found_again(
    screen: Page, live_server: LiveServer, ana: User, bo: User
) -> None:
    first = record("a-model")
    page = f"{live_server.url}/evaluations/{first.pk}/"
    settle(screen)
    comment(screen, "Saved.")
    draft_is(screen, "saved")
    claims.release(evaluation_id=first.pk, actor=ana)
    decide(record("a-model"), bo)
    screen.keyboard.type(" Refused.")
    draft_is(screen, "failing")
    screen.goto(page)
    screen.get_by_role("link", name="Open draft").click()
    expect(screen.get_by_label("Comment")).to_have_value("Saved. Refused.")
    screen.get_by_text("More", exact=True).first.click()
    settle(screen)
    screen.get_by_role("button", name="Discard draft").click()
    wait_until_gone(screen, "#review-form")
    expect(screen.locator("#kept")).to_be_hidden()
    assert not Draft.objects.exists()
    # Without a draft on the server, the copy in this browser is found.
    screen.goto(f"{page}?draft=open")
    settle(screen)
    comment(screen, "Only here.")
    draft_is(screen, "failing")
    screen.goto(page)
    screen.get_by_role("link", name="Open draft").click()
    expect(screen.get_by_label("Comment")).to_have_value("Only here.")
    settle(screen)
    screen.get_by_role("button", name="Submit as independent review").click()
    heading(screen, "b-model")
    assert Review.objects.get(reviewer=ana).comments == "Only here."
    screen.goto(page)
    heading(screen, "a-model")
    expect(screen.locator("#kept")).to_be_hidden()
