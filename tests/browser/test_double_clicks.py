"""A double click or tap, which the next record would receive, decides one record."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import CDPSession, Page, expect

from reviews.models import Review, Skip
from tests.browser.screen import guard_for, heading, is_untouched, saved, settle, wait_for_prefetch
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _short_guard() -> None:
    """Keep the guard of real reviewers."""


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
