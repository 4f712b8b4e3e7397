"""Toasts and Undo."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Skip, User
from tests.browser.conftest import start_session
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


@pytest.mark.parametrize(
    "size",
    [(1280, 800), *(pytest.param(size, marks=pytest.mark.exhaustive) for size in ((1920, 1080), (800, 700)))],
)
def test_toasts_cover_nothing_of_the_record(screen: Page, size: tuple[int, int]) -> None:
    screen.set_viewport_size({"width": size[0], "height": size[1]})
    for command, model in (("s", "b-model"), ("a", "c-model")):
        press(screen, command)
        heading(screen, model)
    saved(screen, "b-model")
    toast, record_box = (
        screen.locator(".toast:visible").bounding_box(),
        screen.locator("#screen").bounding_box(),
    )
    assert toast
    assert record_box
    assert toast["y"] + toast["height"] <= record_box["y"]


def test_toast_leaves_after_six_seconds_without_pointer_and_focus(
    browser: Browser, live_server: LiveServer, ana: User
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        start_session(page, live_server.url, ana)
        page.clock.install()
        page.goto(f"{live_server.url}/preferences/")
        with page.expect_navigation():
            page.get_by_role("button", name="Save").click()
        toast = page.locator(".toast")
        page.clock.run_for(4_000)
        expect(toast).to_contain_text("Preferences saved.")
        toast.hover()
        page.clock.run_for(10_000)
        expect(toast).to_have_count(1)
        page.mouse.move(0, 0)
        page.clock.run_for(2_500)
        expect(toast).to_have_count(0)


def test_long_toast_is_not_cut(screen: Page) -> None:
    screen.evaluate(
        """document.querySelector("#messages").innerHTML =
            '<div class="toast"><p>' + "A record with a long name is saved. ".repeat(5) + "</p></div>" """
    )
    toast, sentence = (screen.locator(each).bounding_box() for each in (".toast", ".toast p"))
    assert toast
    assert sentence
    assert toast["y"] + 4 <= sentence["y"]
    assert sentence["y"] + sentence["height"] + 4 <= toast["y"] + toast["height"]
