"""Drafts survive a reload, a closed tab, an expired session, errors and another tab."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Route, expect

from reviews.models import Draft, Review, Skip
from tests.browser.screen import comment, draft_is, heading, label, press, settle, verdict
from tests.support.factories import PASSWORD
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def comment_in(draft: Draft) -> str:
    return dict(draft.fields)["comments"]


def hold(page: Page, requests: list[Route], number: int) -> None:
    """Wait until so many requests are held. Playwright calls the route only during calls of its own."""
    assert eventually(lambda: page.title() and len(requests) == number)


@pytest.mark.usefixtures("_hurried")
def test_draft_is_saved_while_typing_survives_reload_and_can_be_discarded(screen: Page) -> None:
    draft_is(screen, "clean")
    press(screen, "y", "Escape")
    draft_is(screen, "saved")
    expect(screen.locator("#saved")).to_have_text(re.compile(r"saved \d\d:\d\d"))
    assert dict(Draft.objects.get().fields)["criteria-0-score"] == "Yes"
    comment(screen, "I was here.")
    screen.get_by_role("heading", level=1).click()
    draft_is(screen, "saved")
    assert comment_in(Draft.objects.get()) == "I was here."
    assert screen.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('draft:'))") == []
    screen.get_by_role("button", name="Add criterion").click()
    screen.keyboard.type("brevity")
    screen.keyboard.press("Escape")
    screen.reload()
    expect(screen.locator("#restored")).to_be_visible()
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    press(screen, "c")
    screen.keyboard.type(" Twice.")
    expect(screen.get_by_label("Comment")).to_have_value("I was here. Twice.")
    screen.keyboard.press("Escape")
    expect(screen.get_by_label("Name of the criterion")).to_have_value("brevity")
    verdict(screen, "incomplete")
    draft_is(screen, "saved")
    settle(screen)
    screen.get_by_role("button", name="Discard draft").click()
    expect(screen.get_by_label("Comment")).to_have_value("")
    label(screen, "Accept scores as read")
    assert not Draft.objects.exists()


@pytest.mark.exhaustive
def test_skip_waits_until_text_typed_during_a_save_is_saved(screen: Page) -> None:
    saves: list[Route] = []
    screen.route("**/draft/", lambda route: saves.append(route))  # noqa: PLW0108, Playwright takes no built-in method
    settle(screen)
    comment(screen, "as abo")
    hold(screen, saves, 1)
    screen.keyboard.type("ve")
    screen.keyboard.press("Escape")
    screen.keyboard.press("s")
    saves[0].continue_()
    hold(screen, saves, 2)
    assert not Skip.objects.exists()
    saves[1].continue_()
    heading(screen, "b-model")
    assert comment_in(Draft.objects.get()) == "as above"


@pytest.mark.exhaustive
def test_page_rendered_before_the_last_save_restores_the_draft(screen: Page) -> None:
    """A reload requests the page while the old one is still saving."""
    press(screen, "y", "Escape")
    draft_is(screen, "saved")
    older = screen.request.get(screen.url).text()
    comment(screen, "Saved while the page was made.")
    draft_is(screen, "saved")
    screen.route(screen.url, lambda route: route.fulfill(body=older, content_type="text/html"))
    screen.reload()
    expect(screen.get_by_label("Comment")).to_have_value("Saved while the page was made.")


@pytest.mark.exhaustive
def test_unsent_draft_is_restored_after_closing_the_tab(screen: Page) -> None:
    # Not for the page alone: a request may outlive it.
    screen.context.route("**/draft/", lambda route: route.abort())
    press(screen, "2", "n", "2")
    comment(screen, "Closed too early.")
    draft_is(screen, "offline")
    address = screen.url
    other = screen.context.new_page()
    screen.goto("about:blank")
    Draft.objects.all().delete()  # the last request outlives the page and, rarely, the route
    screen.context.unroute("**/draft/")
    other.goto(address)
    expect(other.get_by_label("Comment")).to_have_value("Closed too early.")
    rigour = other.get_by_role("group", name="rigour")
    expect(rigour).to_contain_text("Yes → No Misread the answer")
    draft_is(other, "saved")
    assert comment_in(Draft.objects.get()) == "Closed too early."
    other.close()


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_hurried")
def test_draft_is_retried_after_server_errors(screen: Page) -> None:
    answers: list[int] = []

    def fail(route: Route) -> None:
        answers.append(503 if answers else 500)
        route.fulfill(status=answers[-1])

    screen.route("**/draft/", fail)
    press(screen, "y")
    draft_is(screen, "failing")
    while answers[-1] != 503:
        screen.wait_for_timeout(50)
    draft_is(screen, "failing")
    screen.unroute("**/draft/")
    draft_is(screen, "saved")
    assert dict(Draft.objects.get().fields)["criteria-0-score"] == "Yes"


@pytest.mark.exhaustive
def test_draft_survives_expired_session_and_reload(screen: Page) -> None:
    press(screen, "y", "Escape")
    draft_is(screen, "saved")
    Session.objects.all().delete()
    comment(screen, "Typed after the session.")
    expect(screen.get_by_role("alert")).to_contain_text("You've been signed out.")
    address = screen.url
    screen.reload()
    screen.get_by_label("Name").fill("ana")
    screen.get_by_label("Password").fill(PASSWORD)
    screen.get_by_role("button", name="Sign in").click()
    expect(screen).to_have_url(address)
    expect(screen.get_by_label("Comment")).to_have_value("Typed after the session.")
    draft_is(screen, "saved")
    assert comment_in(Draft.objects.get()) == "Typed after the session."
    assert not Review.objects.exists()


@pytest.mark.exhaustive
def test_two_tabs_keep_both_versions_of_a_draft(screen: Page) -> None:
    other = screen.context.new_page()
    other.goto(screen.url)
    heading(other, "a-model")
    press(screen, "y", "Escape", "1", "p", "Escape")
    comment(screen, "From the first tab.")
    draft_is(screen, "saved")
    Draft.objects.update(revision=1)  # as if all entries had been saved at once
    other.bring_to_front()
    settle(other)
    comment(other, "From the second tab.")
    strip = other.locator("#strip .strip")
    expect(strip).to_contain_text("You saved a newer draft at")
    draft_is(other, "failing")
    assert comment_in(Draft.objects.get()) == "From the first tab."
    other.keyboard.type(" Typed on.")
    # As after a new login, when drafts are saved again.
    other.evaluate("""async () => {
        const { screenEvents } = await import("/static/review/form.js");
        screenEvents.dispatchEvent(new Event("continued"));
    }""")
    settle(other)
    assert comment_in(Draft.objects.get()) == "From the first tab."
    strip.get_by_role("link", name="Load that version").click()
    expect(other.get_by_label("Comment")).to_have_value("From the first tab.")
    expect(strip).to_contain_text("Another version of this draft is kept in this tab.")
    strip.get_by_role("button", name="Switch to it").click()
    expect(other.get_by_label("Comment")).to_have_value("From the second tab. Typed on.")
    draft_is(other, "saved")
    expect(other.locator("#criterion-0 [value='Partial']")).not_to_be_checked()
    strip.get_by_role("button", name="Switch to it").click()
    expect(other.get_by_label("Comment")).to_have_value("From the first tab.")
    expect(other.locator("#criterion-0 [value='Partial']")).to_be_checked()
    other.close()


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_hurried")
def test_full_storage_of_the_browser_asks_to_keep_the_tab(screen: Page) -> None:
    settle(screen)
    screen.evaluate("""() => {
        Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
    }""")
    screen.context.set_offline(True)
    comment(screen, "Not copied.")
    expect(screen.locator("#strip .strip")).to_contain_text(
        "You're offline. This browser's storage is full: keep this tab open; reconnecting…"
    )
    screen.context.set_offline(False)
    draft_is(screen, "saved")
    assert comment_in(Draft.objects.get()) == "Not copied."
