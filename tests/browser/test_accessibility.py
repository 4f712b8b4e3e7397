"""Every page for everybody: nothing that axe finds against WCAG 2.2 AA, nothing beyond the side, no error.

And nothing that can be used is out of reach of Tab.
"""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import ConsoleMessage, Page
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from reviews.urls import pages
from tests.browser.sights import NO_PAGES, SIGHTS

pytestmark = pytest.mark.django_db(transaction=True)

# From npm, by the build (hatch_build.py); `uv sync --reinstall-package cognireview` fetches it again.
AXE = settings.BASE_DIR / "tests" / "vendor" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The rules that the further looks bear on; each full run of axe takes most of a second.
COLOURS = ["color-contrast", "link-in-text-block"]
# Of these the page is looked at in each of its states; in the others once.
EVERYDAY = ("light", "dark")
WINDOWS = [{"width": 1280, "height": 800}, {"width": 320, "height": 700}]
# Name -> the theme a person chose (`User.Theme`), and what their system says it likes.
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "light": ("system", {"color_scheme": "light"}),
    "dark": ("system", {"color_scheme": "dark"}),
    "high contrast": ("contrast", {"color_scheme": "light"}),
    "high contrast, dark": ("contrast", {"color_scheme": "dark"}),
    "forced colours": ("system", {"color_scheme": "light", "forced_colors": "active"}),
}

_VIOLATIONS = """async (levels) => {
    const { violations } = await axe.run({ runOnly: levels, resultTypes: ["violations"], preload: false });
    return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`));
}"""
# What makes a page wider than the window: the innermost elements that reach over its side.
_OVERFLOW = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const all = [...document.body.querySelectorAll("*")];
    const wide = all.filter((it) => it.getBoundingClientRect().right > width);
    const innermost = wide.filter((it) => !wide.some((other) => other !== it && it.contains(other)));
    return innermost.slice(0, 5).map((it) => `reaches over the side: ${it.outerHTML.slice(0, 150)}`);
}"""

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


@pytest.fixture
def errors(page: Page) -> list[str]:
    """What the console calls an error, but for the status of a page that is about an error."""
    heard: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and message.location["url"] != page.url:
            heard.append(message.text)

    page.on("console", listen)
    return heard


def enter(page: Page, url: str, person: User) -> None:
    """Be logged in already."""
    client = Client()
    client.force_login(person)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": url}])


def problems(page: Page, look: str) -> list[str]:
    """What is wrong with the page as it stands: light by all rules and at every width."""
    theme, liking = LOOKS[look]
    page.emulate_media(reduced_motion="reduce", **{"forced_colors": "none", **liking})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    found: list[str] = []
    for window in WINDOWS if look == "light" else WINDOWS[:1]:
        page.set_viewport_size(window)  # type: ignore[arg-type]
        where = f"{look}, {window['width']} px"
        rules = LEVELS if look == "light" else COLOURS
        seen = [*page.evaluate(_VIOLATIONS, rules), *page.evaluate(_OVERFLOW)]
        found += [f"{where}: {problem}" for problem in seen]
    return found


def looks_at(name: str) -> list[str]:
    """The looks to see a sight in: all of them for the first one of an address."""
    address = SIGHTS[name].address
    is_first = name == next(other for other, sight in SIGHTS.items() if sight.address == address)
    return [look for look in LOOKS if is_first or look in EVERYDAY]


def out_of_reach(page: Page) -> list[str]:
    """What can be used on the page and is not reached with Tab."""
    controls = page.evaluate(_CONTROLS)
    reached: set[str] = set()
    for _ in range(3 * len(controls) + 20):
        if len(reached) == len(controls):
            break
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        reached |= {focused} if focused else set()
    return [control for number, control in enumerate(controls) if str(number) not in reached]


def test_every_address_is_in_sight() -> None:
    seen = {sight.address for sight in SIGHTS.values() if not sight.address.startswith("/")}
    assert seen | NO_PAGES == {pattern.name for pattern in pages}
    assert not seen & NO_PAGES


def test_what_is_wrong_is_found(page: Page) -> None:
    page.set_content('<main><p style="color: #999; width: 400px">Pale, and too wide for a phone.</p></main>')
    page.evaluate(AXE.read_text())
    found = " ".join(problems(page, "light"))
    assert "color-contrast at p" in found
    assert "html-has-lang" in found
    assert "320 px: reaches over the side: <p" in found


def test_what_tab_does_not_reach_is_found(page: Page) -> None:
    page.set_content("<button>One</button><button>Two</button>")
    assert out_of_reach(page) == []
    page.evaluate("() => { document.querySelector('button').onkeydown = (event) => event.preventDefault(); }")
    page.locator("button").first.focus()
    assert out_of_reach(page) == ['<button data-control="1">Two</button>']


@pytest.mark.parametrize("name", SIGHTS)
def test_a_page_is_for_everybody(
    name: str, page: Page, live_server: LiveServer, people: dict[str, User], errors: list[str]
) -> None:
    sight = SIGHTS[name]
    if sight.who in people:
        enter(page, live_server.url, people[sight.who])
    page.goto(live_server.url + sight.prepare())
    sight.then(page)
    page.evaluate(AXE.read_text())
    assert [problem for look in looks_at(name) for problem in problems(page, look)] == []
    # What a page asks for by itself, such as how far a job is, would replace what is numbered now.
    page.route("**/*", lambda route: route.fulfill(status=204))
    assert out_of_reach(page) == []
    assert errors == []
