"""Toasts cover nothing, and leave after a while."""

from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from tests.browser.conftest import start_session
from tests.browser.screen import heading, press, saved

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_toast_about_a_record_without_a_task_is_no_higher_than_the_header(screen: Page) -> None:
    screen.set_viewport_size({"width": 1280, "height": 800})
    sentence = f"Record eval_{UUID(int=7)} · o1-mini submitted. Waiting for the other reviewers."
    screen.evaluate(
        """sentence => document.querySelector("#messages").innerHTML =
            `<div class="toast"><p>${sentence}</p><button class="button small">Undo <kbd>U</kbd></button>` +
            '<button class="button quiet small">x</button></div>' """,
        sentence,
    )
    header, toast = (screen.locator(each).bounding_box() for each in (".site-header", ".toast"))
    assert header
    assert toast
    assert toast["height"] <= header["height"]


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
