"""Reviewing by keyboard alone. `test_accessibility` checks that Tab reaches all controls of every page."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, Run, User
from tests.browser.screen import heading, saved, settle
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def tab_to(page: Page, name: str, *, exact: bool = False) -> None:
    """Press Tab until a link or button with this name has the focus; a part of it suffices unless exact."""
    link = page.get_by_role("link", name=name, exact=exact)
    wanted = link.or_(page.get_by_role("button", name=name, exact=exact))
    wanted.first.wait_for()
    controls = wanted.element_handles()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("controls => controls.includes(document.activeElement)", controls):
            return
    pytest.fail(f"No Tab leads to {name}.")


@pytest.mark.exhaustive
def test_reviewing_works_by_keyboard_alone(
    page: Page, live_server: LiveServer, ana: User, algebra: Run
) -> None:
    page.goto(f"{live_server.url}/login/")
    page.get_by_label("Name").focus()
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Runs").wait_for()
    tab_to(page, "Start reviewing")
    page.keyboard.press("Enter")
    heading(page, "a-model")
    tab_to(page, "Accept scores as read")
    settle(page)
    page.keyboard.press("Enter")
    saved(page, "a-model")
    tab_to(page, "ana", exact=True)
    page.keyboard.press("Enter")
    tab_to(page, "My reviews", exact=True)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="My reviews").wait_for()
    tab_to(page, "Undo")
    page.keyboard.press("Enter")
    heading(page, "a-model")
    assert not Review.objects.filter(evaluation__human_review_status="Completed").exists()
    tab_to(page, "ana", exact=True)
    page.keyboard.press("Enter")
    tab_to(page, "Preferences")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Preferences").wait_for()
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Preferences saved.")
    tab_to(page, "ana", exact=True)
    page.keyboard.press("Enter")
    tab_to(page, "Sign out")
    page.keyboard.press("Enter")
    page.get_by_label("Password").wait_for()
