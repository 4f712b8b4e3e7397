"""The review screen by keyboard and mouse."""

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Review
from tests.browser.screen import SCORES, heading, is_at, label, press, saved, scores_of, settle, verdict

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.exhaustive
def test_screen_fits_and_next_record_updates_title_address_and_focus_and_has_no_inline_style(
    screen: Page,
) -> None:
    heading(screen, "a-model")
    expect(screen.get_by_role("group", name="depth").locator(".katex math")).to_have_count(1)
    expect(screen.locator(".math-error")).to_have_text(r"\undefined{x}")
    for width in (320, 768, 1024, 1280, 1920):
        screen.set_viewport_size({"width": width, "height": 800})
        assert screen.evaluate("document.documentElement.scrollWidth") == width
        expect(screen.locator("#submit")).to_be_in_viewport()
    label(screen, "Accept scores as read")
    screen.evaluate("document.querySelector('#comments').style.height = '9rem'")  # as if resized
    press(screen, "a")
    heading(screen, "b-model")
    expect(screen.get_by_role("heading", level=1)).to_be_focused()
    expect(screen.get_by_role("status")).to_contain_text("Task 7 · a-model submitted: Fail")
    is_at(screen, "b-model")
    expect(screen).to_have_title("Task 7 · b-model · Algebra · CogniReview")
    assert screen.get_by_label("Comment").get_attribute("style") is None
    assert Review.objects.get().corrected_scores == SCORES


def test_keys_and_clicks_update_scores_changes_and_verdict(screen: Page) -> None:
    first = screen.get_by_role("group", name="depth")
    press(screen, "y")
    expect(first.get_by_role("radio", name="Yes")).to_be_checked()
    expect(first).to_contain_text("No → Yes")
    verdict(screen, "Fail → Pass")
    label(screen, "Submit 1 change")
    press(screen, "p")
    verdict(screen, "Fail → Partial")
    press(screen, "Shift+N")
    verdict(screen, "Fail")
    label(screen, "Submit 3 changes")
    press(screen, "1", "e")
    screen.keyboard.type("Only $x^2$")
    expect(first.locator(".preview .katex")).to_be_visible()
    expect(first.locator(".justification .katex")).to_be_visible()
    press(screen, "Control+Enter")
    heading(screen, "b-model")
    review = saved(screen, "a-model")
    depth = {"score": "No", "justification": "Only $x^2$", "justification_by": "reviewer"}
    assert scores_of(review)["depth"] == depth
    assert review.origins == {"depth": "judge", "rigour": "human", "clarity": "human", "elegance": "human"}
    settle(screen)
    first.get_by_role("radio", name="Partial").click()
    label(screen, "Submit 1 change")
    screen.get_by_role("button", name="Submit 1 change").click()
    heading(screen, "c-model")


@pytest.mark.exhaustive
def test_reason_gives_way_to_the_judges_words_and_comes_back(screen: Page) -> None:
    first = screen.get_by_role("group", name="depth")
    reason = first.get_by_label("Your reason for criterion 1")
    judges, restore = "Use the judge's words", "Restore my reason"
    press(screen, "1", "e")
    expect(first.get_by_role("button", name=judges)).to_be_hidden()
    screen.keyboard.type("Not so.")
    label(screen, "Submit 1 change")
    first.get_by_role("button", name=judges).click()
    expect(reason).to_have_value("")
    label(screen, "Accept scores as read")
    first.get_by_role("button", name=restore).click()
    expect(reason).to_have_value("Not so.")
    first.get_by_role("button", name=judges).click()
    press(screen, "Escape", "a")
    assert scores_of(saved(screen, "a-model")) == SCORES
