"""Browser tests: the installed Chromium, driven by Playwright, against a live server."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run, User
from reviews.search import indexing
from tests.browser.screen import SCORES
from tests.support import sessions
from tests.support.factories import PASSWORD, EvaluationFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.waiting import PATIENCE

# Playwright waits for 5 seconds, which a busy machine exceeds.
expect.set_options(timeout=PATIENCE * 1_000)

# The headless shell does the same with half the work.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# Keep Chromium from contacting hosts of its own.
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One renderer for all pages: it keeps the compiled scripts, and a new process would start for each one.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
]
VIEWPORT: ViewportSize = {"width": 1280, "height": 720}
_HURRY = """(() => {
    for (const name of ["setTimeout", "setInterval"]) {
        const set = window[name];
        window[name] = (action, delay, ...given) => set(action, delay > 100 ? delay / 10 : delay, ...given);
    }
})()"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last, and skip them where there is no Chromium; in CI they fail instead.

    Last, because Playwright's event loop stays in the main thread to the end of the session.
    """
    items.sort(key=is_browser_test)
    is_ci = bool(os.environ.get("CI"))
    for item in filter(is_browser_test, items):
        item.add_marker(pytest.mark.slow)
    if CHROMIUM or is_ci:
        return
    skip = pytest.mark.skip(
        reason="no Chromium on this machine (Debian: apt-get install chromium-headless-shell)"
    )
    for item in filter(is_browser_test, items):
        item.add_marker(skip)


def is_browser_test(item: pytest.Item) -> bool:
    return item.path.parent == Path(__file__).parent


@pytest.fixture(scope="session", autouse=True)
def _allow_orm() -> Iterator[None]:
    """Allow the ORM in the thread of Playwright's event loop, which Django would refuse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def _compile_cache() -> Iterator[None]:
    """Keep the compiled code of Playwright's program, which starts sooner with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_COMPILE_CACHE", str(settings.DATA_DIR / "tests" / "node"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _start(live_server: LiveServer, pages: Thread) -> None:
    """Begin to import the pages before Playwright starts, which mostly waits."""


@pytest.fixture(autouse=True)
def _public_url(live_server: LiveServer, settings: LazySettings) -> None:
    settings.PUBLIC_URL = live_server.url


@pytest.fixture(autouse=True)
def _short_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let screens accept input soon. Tests of the guard override this fixture."""
    monkeypatch.setattr("reviews.views.review.screen.GUARD_MS", 50)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": SWITCHES}


@pytest.fixture(scope="session")
def shared_page(browser: Browser, django_db_setup: None) -> Iterator[Page]:
    """One page for all tests: a new one would load every script and style again."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(shared_page: Page, live_server: LiveServer) -> Iterator[Page]:
    """A page that fails the test for an error in a script and for a breach of the content security policy.

    Afterwards, it is signed out, has no stored data and is as a new one, and other pages are closed.
    """
    try:
        # Scripts that leave a page may store data, so they have ended before it is removed.
        with checked(shared_page, leaves_for=f"{live_server.url}/healthz"):
            yield shared_page
            _close_others(shared_page)
    finally:
        shared_page.evaluate("localStorage.clear(); sessionStorage.clear()")
        shared_page.context.clear_cookies()
        shared_page.set_viewport_size(VIEWPORT)
        shared_page.emulate_media(
            color_scheme="null", forced_colors="null", media="null", reduced_motion="null"
        )


def _close_others(page: Page) -> None:
    """Close the other pages of the context. Answers come from the server again."""
    page.context.set_offline(offline=False)
    page.unroute_all()
    page.context.unroute_all()
    for other in page.context.pages[1:]:
        other.close()
        page.bring_to_front()


@contextmanager
def checked(page: Page, *, leaves_for: str = "about:blank") -> Iterator[None]:
    """Fail on script errors and breaches of the content security policy. Leaves the page at the end."""
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            complaints.append(message.text)

    def on_error(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", on_console)
    page.on("pageerror", on_error)
    page.set_default_timeout(PATIENCE * 1_000)
    yield
    page.goto(leaves_for)
    page.remove_listener("console", on_console)
    page.remove_listener("pageerror", on_error)
    assert complaints == []


def start_session(page: Page, url: str, person: User) -> Client:
    """Log a person in without the login page. Return a client in the same session."""
    client = Client()
    sessions.log_in(client, person)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": url}])
    return client


def open_runs(page: Page, url: str, person: User) -> None:
    """Open the list of runs as a person."""
    start_session(page, url, person)
    page.goto(url)


def log_in(page: Page, url: str, person: User) -> None:
    """Sign in with the form of the login page."""
    page.goto(f"{url}/login/")
    page.get_by_label("Name").fill(person.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#user-menu").wait_for(state="attached")


def log_out(page: Page) -> None:
    """Sign out in the menu of the person."""
    page.locator("[popovertarget=user-menu]").click()
    page.get_by_role("button", name="Sign out").click()


@pytest.fixture
def people(ana: User, bo: User, lea: User, max: User, eve: User) -> dict[str, User]:
    """Everybody, by name."""
    return {person.username: person for person in (ana, bo, lea, max, eve)}


@pytest.fixture
def algebra(db: None) -> Run:
    """A run with three records of one task, each failed by the judge for its depth."""
    run = RunFactory.create(name="Algebra")
    for model in ("a-model", "b-model", "c-model"):
        EvaluationFactory.create(run=run, task_id="7", model_id=model, parsed_rubric_scores=SCORES)
    return run


@pytest.fixture
def screen(page: Page, live_server: LiveServer, ana: User, algebra: Run) -> Page:
    """Ana at her first record, as after "Start reviewing"."""
    client = start_session(page, live_server.url, ana)
    page.goto(live_server.url + client.post(reverse("claim-next", args=[algebra.pk]))["Location"])
    page.locator("h1:focus").wait_for()
    return page


@pytest.fixture
def listed(page: Page, live_server: LiveServer, lea: User) -> Page:
    """Lea's list of a run with two records of o1 and one of gpt-4o."""
    models = {"a": "o1", "b": "o1", "c": "gpt-4o"}
    lines = (line(name, task_id=name, model_id=model) for name, model in models.items())
    indexing.index_import(import_data(file_of(*lines)))
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{Run.objects.get().pk}/")
    return page


@pytest.fixture
def _hurried(screen: Page) -> Iterator[None]:
    """Run long timers that this page and the next ones set from now on after a tenth of their time.

    Short ones keep theirs: `settle` waits for the timer of the guard, which also compares times itself.
    """
    screen.evaluate(_HURRY)
    with screen.add_init_script(_HURRY):
        yield
