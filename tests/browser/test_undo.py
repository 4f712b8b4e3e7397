"""Undo, by the button of a toast and by key."""

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Skip
from tests.browser.screen import heading, press, record, saved, settle

pytestmark = pytest.mark.django_db(transaction=True)


def test_toasts_stack_and_undo_their_action_by_click_and_the_last_by_key(screen: Page) -> None:
    toasts = screen.locator(".toast")
    press(screen, "s")
    heading(screen, "b-model")
    press(screen, "a")
    heading(screen, "c-model")
    saved(screen, "b-model")
    expect(toasts).to_have_count(2)
    # From the heading, the toasts are a few steps back. While one has the focus, none leaves.
    settle(screen)
    dismiss = toasts.last.get_by_role("button", name="Dismiss")
    for _ in range(4):
        screen.keyboard.press("Shift+Tab")
        if dismiss.evaluate("button => button === document.activeElement"):
            break
    expect(dismiss).to_be_focused()
    press(screen, "u")
    heading(screen, "b-model")
    expect(toasts.last).to_contain_text("Undone. Task 7 · b-model is open again with your scores.")
    expect(toasts).to_have_count(2)
    # The strip about a restored draft would say it twice.
    expect(screen.locator(".strip:visible")).to_have_count(0)
    settle(screen)
    dismiss.click()
    toasts.first.get_by_role("button", name="Undo").click()
    heading(screen, "a-model")
    expect(toasts.last).to_contain_text("Undone. Task 7 · a-model is open again.")
    assert not Skip.objects.exists()
    assert {record(name).in_queue for name in ("a-model", "b-model")} == {True}
    press(screen, "u")
    nothing = toasts.filter(has_text="You have nothing to undo in this run from the last 24 hours.")
    nothing.get_by_role("button", name="Dismiss").press("Escape")
    expect(nothing).to_have_count(0)
    expect(screen.get_by_role("heading", level=1)).to_be_focused()
