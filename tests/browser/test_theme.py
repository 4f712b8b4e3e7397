"""The chosen theme overrides the system's, from the first paint."""

from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from tests.browser.conftest import start_session

THEMES = {
    User.Theme.SYSTEM: "rgb(246, 245, 242)",
    User.Theme.LIGHT: "rgb(246, 245, 242)",
    User.Theme.DARK: "rgb(19, 21, 24)",
    User.Theme.CONTRAST: "rgb(255, 255, 255)",
}


def test_chosen_theme_applies_at_first_paint(page: Page, live_server: LiveServer, ana: User) -> None:
    page.emulate_media(color_scheme="light")
    start_session(page, live_server.url, ana)
    for theme, colour in THEMES.items():
        ana.theme = theme
        ana.save(update_fields=["theme"])
        page.goto(f"{live_server.url}/preferences/")
        background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert background == colour, theme


def test_arrow_of_a_menu_is_a_triangle_in_forced_colours(
    page: Page, live_server: LiveServer, ana: User
) -> None:
    start_session(page, live_server.url, ana)
    page.emulate_media(forced_colors="active")
    page.goto(f"{live_server.url}/preferences/")
    side = "getComputedStyle(document.querySelector('.arrow')).borderLeftColor"
    assert page.evaluate(side) == "rgba(0, 0, 0, 0)"
