"""Stray keys, meant for the record before or repeated, decide nothing on the next record."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, User
from tests.browser.conftest import start_session
from tests.browser.screen import guard_for, heading, is_untouched, press, saved, settle
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

# Presses the keys at intervals of a number of milliseconds.
_TYPE = """async ([keys, interval]) => {
    for (const key of keys) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {
            key, code: `Key${key.toUpperCase()}`, bubbles: true, cancelable: true
        }));
        await new Promise((resolve) => setTimeout(resolve, interval));
    }
}"""


@pytest.fixture(autouse=True)
def _short_guard() -> None:
    """Keep the guard of real reviewers."""


@pytest.mark.exhaustive
def test_text_typed_as_commands_decides_at_most_one_record(screen: Page) -> None:
    guard_for(screen, 900)
    press(screen, "1", "y")
    screen.keyboard.press("Escape")
    # It takes longer than the guard, so its end is dropped only because the keys follow each other.
    screen.evaluate(_TYPE, ["answer is right, no doubt", 60])
    saved(screen, "a-model")
    expect(screen.locator("#ignored")).to_contain_text("Ignored")
    is_untouched(screen, "b-model")
    expect(screen.locator("#ignored")).to_be_empty()
    press(screen, "a")  # after a pause, keys count again
    saved(screen, "b-model")


def test_repeating_key_submits_one_record(screen: Page) -> None:
    settle(screen)
    for _ in range(6):
        screen.keyboard.down("a")
    heading(screen, "b-model")
    settle(screen)
    screen.keyboard.down("a")
    screen.keyboard.up("a")
    saved(screen, "a-model")
    is_untouched(screen, "b-model")


def test_key_that_opens_a_text_and_is_held_types_nothing(screen: Page) -> None:
    for key, text in (
        ("c", screen.get_by_label("Comment")),
        ("Enter", screen.locator("#criteria textarea").first),
    ):
        settle(screen)
        for _ in range(4):
            screen.keyboard.down(key)
        screen.keyboard.up(key)
        expect(text).to_be_focused()
        screen.keyboard.type("kept")
        expect(text).to_have_value("kept")
        screen.keyboard.press("Escape")


@pytest.mark.exhaustive
def test_key_between_swap_and_display_of_a_record_is_dropped(screen: Page) -> None:
    settle(screen)
    screen.evaluate(
        f"""document.addEventListener('htmx:afterSwap', () => {{
            window.freshAtSwap = document.querySelector('#screen').dataset.fresh;
            ({_TYPE})(['a', 0]);
        }}, {{ once: true }})"""
    )
    press(screen, "s")
    heading(screen, "b-model")
    assert screen.evaluate("window.freshAtSwap") == "yes"
    expect(screen.locator("#ignored")).to_contain_text("Ignored")
    settle(screen)
    assert not Review.objects.exists()


def test_page_without_a_record_does_not_speak_of_a_record(
    page: Page, live_server: LiveServer, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.views.review.screen.GUARD_MS", 60_000)
    start_session(page, live_server.url, ana)
    page.goto(live_server.url + reverse("review", args=[RunFactory.create().pk]))
    page.locator("#screen[data-fresh='yes']").wait_for()
    page.keyboard.press("f")
    expect(page.locator("#ignored")).to_have_text("Ignored: this page has just opened.")
