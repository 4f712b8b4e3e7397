"""The strip: trouble while a record is open loses nothing, moves no field, and is settled by one action."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import FloatRect, Page, Route, expect

from reviews.models import Draft, Review, User
from tests.browser.conftest import log_out
from tests.browser.screen import draft_is, heading, press, saved, settle
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(tab: Page, person: str) -> None:
    """Fill in the login form of a tab."""
    tab.get_by_label("Username").fill(person)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()


def type_comment(screen: Page, text: str) -> FloatRect | None:
    """Type a comment and return the place of its field."""
    screen.keyboard.press("c")
    screen.keyboard.type(text)
    return screen.get_by_label("Comment").bounding_box()


@pytest.mark.usefixtures("_hurried")
def test_draft_and_submit_survive_a_lost_network_and_one_key_submits_again(screen: Page) -> None:
    press(screen, "y", "Escape")
    place = type_comment(screen, "Typed in a tunnel.")
    draft_is(screen, "saved")
    strip = screen.locator("#strip .strip")
    screen.context.set_offline(True)
    expect(strip).to_contain_text("You're offline")
    assert screen.get_by_label("Comment").bounding_box() == place
    screen.keyboard.type(" More.")
    expect(strip).to_contain_text("Draft saved in this browser; reconnecting…")
    expect(screen.get_by_label("Comment")).to_be_focused()
    assert screen.get_by_label("Comment").bounding_box() == place
    screen.keyboard.press("Control+Enter")
    expect(strip).to_have_text("Couldn't submit: you're offline. Your work is kept; try again.Submit again")
    press(screen, "Escape", "Shift+J")  # no link leaves the record for an error page of the browser
    heading(screen, "a-model")
    screen.context.set_offline(False)
    expect(strip).to_contain_text("This record isn't submitted yet.")
    draft_is(screen, "saved")
    assert dict(Draft.objects.get().fields)["comments"] == "Typed in a tunnel. More."
    assert not Review.objects.exists()
    strip.get_by_role("button", name="Submit again").click()
    assert saved(screen, "a-model").comments == "Typed in a tunnel. More."
    expect(strip).to_have_count(0)


def test_buttons_of_a_strip_stay_when_its_sentence_changes(screen: Page) -> None:
    strip = '<div class="strip bad" data-state="lost"><p>{}</p><button>Next record</button></div>'
    stays = screen.evaluate(
        """async (strips) => {
            const { raiseFromServer } = await import("/static/review/strip.js");
            raiseFromServer(strips[0]);
            const button = document.querySelector("#strip button");
            raiseFromServer(strips[1]);
            return button.isConnected;
        }""",
        [strip.format("Claimed by bo."), strip.format("Decided by bo.")],
    )
    expect(screen.locator("#strip .strip")).to_have_text("Decided by bo.Next record")
    assert stays


@pytest.mark.usefixtures("_hurried")
def test_strip_says_why_a_person_without_a_role_can_neither_save_nor_submit(screen: Page, ana: User) -> None:
    press(screen, "y", "Escape")
    draft_is(screen, "saved")
    roles = list(ana.groups.all())
    ana.groups.clear()
    place = type_comment(screen, "Typed without a role.")
    strip = screen.locator("#strip .strip")
    reason = "only a reviewer, a lead or an admin can review evaluations"
    expect(strip).to_have_text(
        f"The server didn't accept your draft: {reason}. Draft saved in this browser.Try again"
    )
    assert screen.get_by_label("Comment").bounding_box() == place
    screen.keyboard.press("Control+Enter")
    expect(strip).to_have_text(f"Couldn't submit: {reason}. Your work is kept; try again.Submit again")
    assert not Review.objects.exists()
    ana.groups.set(roles)
    strip.get_by_role("button", name="Submit again").click()
    assert saved(screen, "a-model").comments == "Typed without a role."


@pytest.mark.exhaustive
def test_answer_under_way_when_the_connection_is_lost_leaves_the_warning(screen: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    screen.route("**/draft/", hold)
    with screen.expect_request("**/draft/"):
        press(screen, "y")
    screen.wait_for_timeout(0)  # runs the handler of the route
    answer = held[0].fetch()
    screen.context.set_offline(True)
    strip = screen.locator("#strip .strip")
    expect(strip).to_contain_text("You're offline")
    held[0].fulfill(response=answer)
    draft_is(screen, "saved")
    expect(strip).to_contain_text("You're offline")


@pytest.mark.exhaustive
def test_session_is_renewed_in_another_tab_and_the_review_goes_on(screen: Page, ana: User, bo: User) -> None:
    press(screen, "y", "Escape")
    place = type_comment(screen, "Typed before.")
    draft_is(screen, "saved")
    Session.objects.all().delete()
    screen.keyboard.type(" Typed after the session.")
    strip = screen.locator("#strip .strip")
    expect(strip).to_contain_text("You've been signed out. Your draft is safe. Sign in to continue.")
    assert screen.get_by_label("Comment").bounding_box() == place
    screen.keyboard.press("Control+Enter")
    heading(screen, "a-model")
    expect(strip).to_contain_text("You've been signed out.")
    # Somebody else signs in first: nothing is submitted under that name.
    with screen.context.expect_page() as opened:
        strip.get_by_role("link", name="Sign in").click()
    tab = opened.value
    sign_in(tab, "bo")
    expect(tab.get_by_role("heading", level=1)).to_have_text("You're signed in as bo")
    expect(strip).to_contain_text("bo is signed in now. Your draft is kept.")
    tab.get_by_role("button", name="Sign in as someone else").click()
    with tab.expect_event("close"):
        sign_in(tab, "ana")
    expect(strip).to_contain_text("This record isn't submitted yet. Your work is kept.")
    draft_is(screen, "saved")
    draft = Draft.objects.get()
    assert (draft.reviewer, dict(draft.fields)["comments"]) == (ana, "Typed before. Typed after the session.")
    assert not Review.objects.exists()
    press(screen, "Control+Enter")
    review = saved(screen, "a-model")
    assert (review.reviewer, review.comments) == (ana, "Typed before. Typed after the session.")


@pytest.mark.exhaustive
def test_login_in_another_tab_is_taken_over_without_a_word(screen: Page, ana: User) -> None:
    """The token of the page is old after a login, but the person is the same."""
    settle(screen)
    tab = screen.context.new_page()
    tab.goto(screen.url)
    log_out(tab)
    sign_in(tab, "ana")
    tab.locator("#user-menu").wait_for(state="attached")
    tab.close()
    type_comment(screen, "Still here.")
    draft_is(screen, "saved")
    assert dict(Draft.objects.get().fields)["comments"] == "Still here."
    expect(screen.locator("#strip .strip")).to_have_count(0)
