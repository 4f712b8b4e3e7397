"""Where keys are commands, and how they are shown, reassigned and disabled."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Draft, Review, Skip
from tests.browser.screen import (
    SCORES,
    draft_is,
    heading,
    label,
    press,
    record,
    saved,
    scores_of,
    settle,
    words_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.exhaustive
def test_letters_start_no_text_and_in_text_fields_no_command(screen: Page) -> None:
    press(screen, "1", "p")
    screen.keyboard.type("low tilt b q z")
    expect(screen.locator("textarea:focus")).to_have_count(0)
    press(screen, "a")
    heading(screen, "b-model")
    assert scores_of(saved(screen, "a-model"))["depth"] == {
        "score": "Partial",
        "justification": SCORES["depth"]["justification"],
        "justification_by": "judge",
    }
    press(screen, "c")
    screen.keyboard.type("skip, please")
    heading(screen, "b-model")
    screen.keyboard.press("Escape")
    screen.get_by_text("Your reason").first.click()
    screen.keyboard.type("as above")
    heading(screen, "b-model")
    screen.keyboard.press("Escape")
    press(screen, "s")
    heading(screen, "c-model")
    fields = Draft.objects.get().fields
    assert ["criteria-0-justification", "as above"] in fields
    assert fields[-1] == ["comments", "skip, please"]


# The widths of a text at which the full stop after its formula is in another line than the formula.
_WIDTHS_WITH_STRAY_STOP = """(text) => {
    const formula = text.querySelector(".katex-html");
    const stop = text.querySelector(".math").nextSibling;
    const widths = Array.from({ length: 60 }, (_, i) => 40 + 3 * i);
    return widths.filter((width) => {
        text.style.width = `${width}px`;
        const place = new Range();
        place.selectNode(stop);
        return place.getBoundingClientRect().left < formula.getBoundingClientRect().right - 1;
    });
}"""


@pytest.mark.exhaustive
def test_keys_toggle_formula_source_and_shortcuts_and_open_other_records_and_pages(
    screen: Page, live_server: LiveServer
) -> None:
    first = screen.get_by_role("group", name="depth")
    expect(first.locator(".katex math")).to_have_count(1)
    press(screen, "m")
    expect(first.locator(".katex")).to_have_count(0)
    expect(first).to_contain_text(r"\frac{1}{2}")
    press(screen, "m")
    expect(first.locator(".katex math")).to_have_count(1)
    assert first.locator(".prose").first.evaluate(_WIDTHS_WITH_STRAY_STOP) == []
    press(screen, "?")
    expect(screen.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    press(screen, "s", "Escape")
    expect(screen.get_by_role("dialog")).to_have_count(0)
    heading(screen, "a-model")
    press(screen, "Shift+J")
    heading(screen, "b-model")
    expect(screen.locator("#review-form")).to_have_count(0)
    press(screen, "Shift+K")
    heading(screen, "a-model")
    assert not Review.objects.exists()
    press(screen, "g", "q")
    expect(screen.get_by_role("heading", name="Algebra")).to_be_visible()
    press(screen, "g", "h")
    expect(screen.get_by_role("heading", name="My reviews")).to_be_visible()
    press(screen, "g", "r")
    expect(screen).to_have_url(f"{live_server.url}/")


def test_links_work_without_a_network_if_the_server_is_on_the_same_machine(screen: Page) -> None:
    screen.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })")
    press(screen, "c")
    screen.keyboard.type("Typed on a train.")
    draft_is(screen, "saved")
    press(screen, "Escape", "Shift+J")
    heading(screen, "b-model")


def test_key_to_submit_claims_a_viewed_record(screen: Page) -> None:
    press(screen, "Shift+J")
    heading(screen, "b-model")
    review = screen.get_by_role("button", name="Review this")
    expect(review).to_have_attribute("aria-keyshortcuts", "A")
    press(screen, "a")
    label(screen, "Accept scores as read")
    heading(screen, "b-model")
    assert not Review.objects.exists()


def test_keys_are_no_commands_while_a_menu_is_open(screen: Page) -> None:
    settle(screen)
    screen.locator("[popovertarget=user-menu]").click()
    screen.keyboard.press("y")
    screen.keyboard.press("Escape")
    expect(screen.locator("#user-menu")).to_be_hidden()
    expect(screen.locator("#criteria .changed")).to_have_count(0)
    screen.keyboard.press("y")
    expect(screen.locator("#criteria .changed")).to_have_count(1)


def test_keys_are_shown_in_the_font_of_the_text(screen: Page) -> None:
    font = "it => getComputedStyle(it).fontFamily"
    assert screen.locator("#submit kbd").evaluate(font) == screen.locator("body").evaluate(font)


@pytest.mark.exhaustive
def test_shortcut_can_be_reassigned(screen: Page, live_server: LiveServer) -> None:
    screen.goto(f"{live_server.url}/preferences/")
    screen.get_by_label("Skip (moves to the end of your queue)").fill("l")
    screen.get_by_role("button", name="Save").click()
    screen.goto(f"{live_server.url}/evaluations/{record('a-model').pk}/")
    expect(screen.get_by_role("button", name="Skip")).to_contain_text("L")
    press(screen, "s")
    heading(screen, "a-model")
    press(screen, "l")
    heading(screen, "b-model")
    assert Skip.objects.count() == 1


@pytest.mark.exhaustive
def test_shortcuts_can_be_disabled(screen: Page, live_server: LiveServer) -> None:
    address = screen.url
    screen.goto(f"{live_server.url}/preferences/")
    screen.get_by_role("checkbox", name="Single-key shortcuts").uncheck()
    screen.get_by_role("button", name="Save").click()
    expect(screen.get_by_role("status")).to_contain_text("Preferences saved.")
    screen.goto(address)
    press(screen, "2", "n", "3", "Shift+N", "s", "x", "?", "a")
    heading(screen, "a-model")
    label(screen, "Accept scores as read")
    expect(screen.get_by_role("dialog")).to_have_count(0)
    expect(screen.locator("#screen kbd:visible")).to_have_count(0)
    first = screen.get_by_role("group", name="depth")
    first.get_by_role("radio", name="No judge").focus()
    press(screen, "ArrowLeft")
    expect(first.get_by_role("radio", name="Partial")).to_be_checked()
    press(screen, "3", "t", "Control+Enter")
    review = saved(screen, "a-model")
    assert words_of(review)[0] == "Partial"
    assert review.causes == {}


def test_keys_are_no_part_of_the_names_of_controls(screen: Page) -> None:
    skip = screen.get_by_role("button", name="Skip", exact=True)
    expect(skip).to_have_text("Skip S")
    expect(skip).to_have_attribute("aria-keyshortcuts", "S")
    expect(screen.get_by_role("textbox", name="Comment", exact=True)).to_have_attribute(
        "aria-keyshortcuts", "C"
    )
