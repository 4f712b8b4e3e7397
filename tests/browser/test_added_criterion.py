"""A submit records time and keys, and an added criterion needs a name of its own."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.screen import heading, label, press, saved, scores_of, settle

pytestmark = pytest.mark.django_db(transaction=True)


def test_submit_records_time_and_keys_and_added_criterion_shows_its_error(screen: Page) -> None:
    press(screen, "2", "n", "3", "a")
    heading(screen, "b-model")
    review = saved(screen, "a-model")
    assert review.keys == 4
    assert review.active_ms is not None
    assert 50 <= review.active_ms < 60_000  # at least the pause of the guard
    settle(screen)
    screen.get_by_role("button", name="Add criterion").click()
    screen.set_viewport_size({"width": 320, "height": 800})
    assert screen.evaluate("document.documentElement.scrollWidth") == 320
    screen.set_viewport_size({"width": 1280, "height": 800})
    screen.keyboard.type("clarity")
    screen.keyboard.press("Enter")
    label(screen, "1 score missing")
    press(screen, "p", "Control+Enter")
    name = screen.get_by_label("Name of the criterion")
    expect(name).to_be_focused()
    expect(screen.get_by_role("group", name="Criterion 5")).to_contain_text(
        "Another criterion has this name."
    )
    name.fill("brevity")
    press(screen, "Control+Enter")
    review = saved(screen, "b-model")
    assert scores_of(review)["brevity"] == {"score": "Partial", "justification": ""}
