"""Accessibility of every page: WCAG 2.2 AA by axe, room for everything, all controls reached by Tab."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from django.conf import LazySettings, settings
from playwright.sync_api import ConsoleMessage, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from reviews.urls import pages
from tests.browser.conftest import start_session
from tests.browser.sights import NO_PAGES, SIGHTS, Sight

pytestmark = pytest.mark.django_db(transaction=True)

# From npm, by the build (hatch_build.py); `uv sync --reinstall-package cognireview` fetches it again.
AXE = settings.BASE_DIR / "tests" / "vendor" / "axe-core" / "axe.min.js"
ALL_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
# The rules whose result for an element depends on the width of the window.
LAYOUT = {"runOnly": ["target-size", "scrollable-region-focusable"]}
# The sights that are always checked. The style guide shows every component, and reviewers work on the record.
# Exhaustive tests check all others, and two more in all looks: pages on which leads work.
COMPONENTS = "style guide"
USUAL = {"sign in", "record, waiting", COMPONENTS}
OF_LEADS = {"run", "dashboard"}
# The looks to check them in. The dark one changes colours, and pages have those of the components.
EVERYDAY = ("light", "dark")
IN_THE_DARK = {"record, waiting", COMPONENTS}
# The narrow one is as high as the longest page: in a lower one, the sticky bar covers some controls.
WINDOWS: list[ViewportSize] = [{"width": 1280, "height": 800}, {"width": 320, "height": 6000}]
# Name -> the chosen theme (`User.Theme`) and the emulated preferences of the system.
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "light": ("system", {"color_scheme": "light"}),
    "dark": ("system", {"color_scheme": "dark"}),
    "high contrast": ("contrast", {"color_scheme": "light"}),
    "high contrast, dark": ("contrast", {"color_scheme": "dark"}),
    "forced colours": ("system", {"color_scheme": "light", "forced_colors": "active"}),
}

# With `onlyNew`, only elements that were not visible on the first call are checked.
_VIOLATIONS = """async ([options, onlyNew]) => {
    const visible = [...document.body.querySelectorAll("*")].filter((it) => it.checkVisibility());
    const seen = window.visibleAtFirst ??= new WeakSet(visible);
    const include = onlyNew ? visible.filter((it) => !seen.has(it)) : [document.documentElement];
    if (!include.length) return [];
    const quietly = { resultTypes: ["violations"], preload: false };
    const { violations } = await axe.run({ include }, { ...options, ...quietly });
    return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`));
}"""
# The innermost elements that make a page wider than the window.
_OVERFLOW = """async () => {
    // Observers of sizes run a frame later.
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const all = [...document.body.querySelectorAll("*")];
    const wide = all.filter((it) => it.getBoundingClientRect().right > width);
    const innermost = wide.filter((it) => !wide.some((other) => other !== it && it.contains(other)));
    return innermost.slice(0, 5).map((it) => `reaches over the side: ${it.outerHTML.slice(0, 150)}`);
}"""
# The labels that are neither at the side of their field nor above it, with at most a help text between them.
_APART = """() => {
    const isFar = (label, field) => {
        const across = Math.max(label.left - field.right, field.left - label.right);
        const down = Math.max(label.top - field.bottom, field.top - label.bottom);
        return across > 24 || down > 200 || (down > 24 && Math.abs(label.left - field.left) > 24);
    };
    const isShown = (label) => label.control?.checkVisibility() && label.checkVisibility()
        && !label.closest(".visually-hidden") && !label.contains(label.control);
    const labels = [...document.querySelectorAll("label")].filter(isShown);
    const isApart = (it) => isFar(it.getBoundingClientRect(), it.control.getBoundingClientRect());
    return labels.filter(isApart).map((it) => `far from its field: ${it.outerHTML.slice(0, 150)}`);
}"""

# Number the controls (one radio button per group), record which of them get the focus, and return their HTML.
_NUMBER_CONTROLS = """() => {
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
    window.reached = new Set();
    document.addEventListener("focusin", ({ target }) => window.reached.add(Number(target.dataset.control)));
    return found.map((it) => it.outerHTML.slice(0, 120));
}"""
_REACHED = "() => [...window.reached, Number(document.activeElement.dataset.control)]"


@pytest.fixture
def page(page: Page) -> Page:
    page.set_viewport_size(WINDOWS[0])
    return page


@pytest.fixture
def errors(page: Page) -> Iterator[list[str]]:
    """The errors in the console, except the status of the page itself."""
    heard: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and message.location["url"] != page.url:
            heard.append(message.text)

    page.on("console", listen)
    yield heard
    page.remove_listener("console", listen)


def problems(page: Page, look: str) -> list[str]:
    """Check the current page in a look: all rules in the light one, else its colours."""
    theme, liking = LOOKS[look]
    page.emulate_media(reduced_motion="reduce", **{"forced_colors": "none", **liking})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    wide, narrow = WINDOWS
    if look != "light":
        return [f"{look}: {problem}" for problem in page.evaluate(_VIOLATIONS, [COLOURS, False])]
    found = violations_and_overflow(page, wide, ALL_RULES) + page.evaluate(_APART)
    found = [f"light: {problem}" for problem in found]
    at_320 = violations_and_overflow(page, narrow, LAYOUT)
    at_320 += page.evaluate(_VIOLATIONS, [ALL_RULES, True])
    page.set_viewport_size(wide)
    return found + [f"light, {narrow['width']} px: {problem}" for problem in at_320]


def violations_and_overflow(page: Page, size: ViewportSize, rules: dict[str, Any]) -> list[str]:
    page.set_viewport_size(size)
    return [*page.evaluate(_VIOLATIONS, [rules, False]), *page.evaluate(_OVERFLOW)]


def cases() -> Iterator[Any]:
    """Return each sight with the looks to check it in. Only the usual ones, in everyday looks, always run.

    Exhaustive tests check the other looks of these, all of the sights of leads, and the light look of all
    others. The first sight of an address has another look, too, in turn: the style guide has its components
    in all looks.
    """
    in_turn = cycle(look for look in LOOKS if look != "light")
    seen = {SIGHTS[name].address for name in USUAL | OF_LEADS}
    for name, sight in SIGHTS.items():
        if name in USUAL:
            usual = EVERYDAY if name in IN_THE_DARK else EVERYDAY[:1]
            yield pytest.param(name, usual, id=name)
            rest = tuple(look for look in LOOKS if look not in usual)
        elif name in OF_LEADS:
            rest = tuple(LOOKS)
        else:
            rest = ("light",) if sight.address in seen else ("light", next(in_turn))
        seen.add(sight.address)
        yield pytest.param(name, rest, id=f"{name}, rest", marks=pytest.mark.exhaustive)


CASES = [*cases()]


def out_of_reach(page: Page) -> list[str]:
    """Press Tab through the page and return the controls that never got the focus."""
    controls = page.evaluate(_NUMBER_CONTROLS)
    missing = set(range(len(controls)))
    presses, limit = 0, 3 * len(controls) + 20
    while missing and presses < limit:
        batch = max(len(missing), 5)
        # Held down, it needs one message to the browser for each step.
        for _ in range(batch):
            page.keyboard.down("Tab")
        page.keyboard.up("Tab")
        presses += batch
        missing -= set(page.evaluate(_REACHED))
    return [controls[number] for number in sorted(missing)]


def test_every_address_has_a_sight() -> None:
    seen = {sight.address for sight in SIGHTS.values() if not sight.address.startswith("/")}
    assert seen | NO_PAGES == {pattern.name for pattern in pages}
    assert not seen & NO_PAGES


def test_usual_sights_exist() -> None:
    assert {*SIGHTS} >= USUAL | OF_LEADS
    assert USUAL >= IN_THE_DARK


@pytest.fixture
def sight(
    name: str, page: Page, live_server: LiveServer, people: dict[str, User], settings: LazySettings
) -> Sight:
    """The sight with a name, with its visitor signed in and its page not opened yet."""
    found = SIGHTS[name]
    settings.DEBUG = found.in_debug_mode
    if found.who in people:
        start_session(page, live_server.url, people[found.who])
    return found


@pytest.mark.parametrize(("name", "looks"), [case for case in CASES if case.values[0] != COMPONENTS])
def test_page_is_accessible(
    looks: tuple[str, ...], sight: Sight, page: Page, live_server: LiveServer, errors: list[str]
) -> None:
    assert_accessible(page, live_server.url + sight.prepare(), sight, looks, errors)


def assert_accessible(page: Page, url: str, sight: Sight, looks: tuple[str, ...], errors: list[str]) -> None:
    response = page.goto(url)
    assert response
    assert response.status < 500
    sight.then(page)
    page.wait_for_load_state()  # the last click may have led to a page that is still being parsed
    page.evaluate(AXE.read_text())
    assert [problem for look in looks for problem in problems(page, look)] == []
    if "light" in looks:
        # Polling, for instance of an import's progress, would replace numbered controls.
        page.route("**/*", lambda route: route.fulfill(status=204))
        expect(page.locator("[hx-trigger^=every].htmx-request")).to_have_count(0)
        assert out_of_reach(page) == []
    assert errors == []
