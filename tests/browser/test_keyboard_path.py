"""Every page by keyboard alone: what can be used is reached with Tab, and a day's way needs no mouse."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, Run, User
from tests.browser.conftest import PASSWORD
from tests.browser.screen import heading, saved
from tests.browser.sights import SIGHTS
from tests.browser.test_accessibility import enter

pytestmark = pytest.mark.django_db(transaction=True)

# Numbers what can be used (of radio buttons one per group) and says what it is.
_CONTROLS = """() => {
    const root = document.querySelector("dialog[open]") || document;
    const controls = [...root.querySelectorAll("a[href], button, input, select, textarea, summary")];
    const isUsable = (it) => it.type !== "hidden" && !it.disabled && it.tabIndex >= 0 && it.checkVisibility();
    const groups = new Set();
    const isFirst = ({ type, name, form, checked }) => {
        if (type !== "radio") return true;
        const group = document.querySelectorAll(`[type=radio][name="${CSS.escape(name)}"]:checked`);
        const hasChecked = [...group].some((other) => other.form === form);
        if (hasChecked ? !checked : groups.has(`${form?.id} ${name}`)) return false;
        groups.add(`${form?.id} ${name}`);
        return true;
    };
    const found = controls.filter(isUsable).filter(isFirst);
    found.forEach((it, number) => { it.dataset.control = number; });
    return found.map((it) => it.outerHTML.slice(0, 120));
}"""
_FOCUSED = "document.activeElement.dataset.control ?? null"


@pytest.mark.parametrize("name", SIGHTS)
def test_all_that_can_be_used_is_reached_with_tab(
    name: str, page: Page, live_server: LiveServer, people: dict[str, User]
) -> None:
    sight = SIGHTS[name]
    if sight.who in people:
        enter(page, live_server.url, people[sight.who])
    page.goto(live_server.url + sight.prepare())
    sight.then(page)
    controls = page.evaluate(_CONTROLS)
    reached: set[str] = set()
    for _ in range(3 * len(controls) + 20):
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        reached |= {focused} if focused else set()
        if len(reached) == len(controls):
            break
    assert [control for number, control in enumerate(controls) if str(number) not in reached] == []


def tab_to(page: Page, name: str, *, exact: bool = False) -> None:
    """Press Tab until something with this name, or with it in its name, has the focus."""
    link = page.get_by_role("link", name=name, exact=exact)
    wanted = page.locator(":focus").and_(link.or_(page.get_by_role("button", name=name, exact=exact)))
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.count():
            return
    pytest.fail(f"No Tab leads to {name}.")


def test_a_day_goes_by_without_a_mouse(page: Page, live_server: LiveServer, ana: User, algebra: Run) -> None:
    ana.set_password(PASSWORD)
    ana.save(update_fields=["password"])
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
    tab_to(page, "Agree & next")
    page.wait_for_timeout(350)
    page.keyboard.press("Enter")
    saved(page, "a-model")
    tab_to(page, "History", exact=True)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your history").wait_for()
    tab_to(page, "Undo")
    page.keyboard.press("Enter")
    heading(page, "a-model")
    assert not Review.objects.filter(evaluation__human_review_status="Completed").exists()
    tab_to(page, "ana")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Preferences").wait_for()
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    tab_to(page, "Log out")
    page.keyboard.press("Enter")
    page.get_by_label("Password").wait_for()
