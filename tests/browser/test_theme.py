"""The chosen theme overrides the system's, from the first paint."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from tests.browser.conftest import open_runs

THEMES = {
    User.Theme.SYSTEM: "rgb(246, 245, 242)",
    User.Theme.LIGHT: "rgb(246, 245, 242)",
    User.Theme.DARK: "rgb(19, 21, 24)",
    User.Theme.CONTRAST: "rgb(255, 255, 255)",
}


@pytest.mark.parametrize("theme", THEMES)
def test_chosen_theme_applies_at_first_paint(
    theme: User.Theme, page: Page, live_server: LiveServer, ana: User
) -> None:
    ana.theme = theme
    ana.save(update_fields=["theme"])
    page.emulate_media(color_scheme="light")
    open_runs(page, live_server.url, ana)
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == THEMES[theme]
