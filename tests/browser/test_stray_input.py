"""Stray input, meant for the record before or sent twice, decides nothing on the next record."""

from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import CDPSession, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Escalation, Review, Skip, User
from tests.browser.conftest import start_session
from tests.browser.screen import heading, press, saved, settle, wait_for_prefetch
from tests.support.factories import RunFactory
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

_SPARE = "document.querySelector('#prefetched').content.firstElementChild"
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


def is_untouched(page: Page, model: str) -> None:
    """Expect the record of this model without entries, and one decision in all."""
    heading(page, model)
    expect(page.locator("#criteria .changed")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert Review.objects.count() == 1
    assert not Skip.objects.exists()
    assert not Escalation.objects.exists()


def guard_for(page: Page, milliseconds: int) -> None:
    """Make the prefetched record drop input for longer, so that a slow machine is quick enough."""
    wait_for_prefetch(page, "b-model")
    page.evaluate(f"{_SPARE}.dataset.guard = {milliseconds}")


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


def test_double_click_decides_one_record(screen: Page) -> None:
    for button, after in (("#submit", "b-model"), ("#skip", "c-model")):
        wait_for_prefetch(screen, after)
        settle(screen)
        screen.locator(button).dblclick()
        heading(screen, after)
        settle(screen)
        expect(screen.locator("#criteria .changed")).to_have_count(0)
    # The next record is shown before the answer arrives.
    assert eventually(Skip.objects.exists)
    assert (Review.objects.count(), Skip.objects.count()) == (1, 1)


@pytest.fixture
def touch(screen: Page) -> Iterator[CDPSession]:
    """The protocol of the page, which takes touches."""
    session = screen.context.new_cdp_session(screen)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield session
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    session.detach()


def test_double_tap_decides_one_record(screen: Page, touch: CDPSession) -> None:
    guard_for(screen, 2000)
    settle(screen)
    place = screen.locator("#submit").bounding_box()
    assert place
    finger = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
    for _ in range(2):
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    saved(screen, "a-model")
    is_untouched(screen, "b-model")


def test_page_without_a_record_does_not_speak_of_a_record(
    page: Page, live_server: LiveServer, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.views.review.screen.GUARD_MS", 60_000)
    start_session(page, live_server.url, ana)
    page.goto(live_server.url + reverse("review", args=[RunFactory.create().pk]))
    page.locator("#screen[data-fresh='yes']").wait_for()
    page.keyboard.press("f")
    expect(page.locator("#ignored")).to_have_text("Ignored: this page has just opened.")
