"""The record list in a browser: filters without reloads, addresses, keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run, User
from reviews.search import indexing
from tests.browser.conftest import open_runs
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listed(page: Page, live_server: LiveServer, lea: User) -> Page:
    """Lea's list of a run with two records of o1 and one of gpt-4o."""
    models = {"a": "o1", "b": "o1", "c": "gpt-4o"}
    lines = (line(name, task_id=name, model_id=model) for name, model in models.items())
    indexing.index_import(import_data(file_of(*lines)))
    open_runs(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{Run.objects.get().pk}/")
    return page


def tasks(page: Page) -> list[str]:
    return page.locator(".evaluations tbody th").all_inner_texts()


def test_filter_narrows_the_list_and_is_part_of_the_address(listed: Page) -> None:
    listed.get_by_label("Verdict", exact=True).select_option("Pass")
    expect(listed).to_have_url(re.compile(r"\?verdict=Pass$"))
    listed.get_by_label("Search").fill("gpt")
    listed.get_by_label("Search").press("Enter")
    expect(listed).to_have_url(re.compile(r"\?q=gpt&verdict=Pass$"))
    expect(listed.locator("#found")).to_have_text("1 record")
    assert tasks(listed) == ["c"]
    listed.get_by_role("link", name="Remove Search: gpt").click()
    expect(listed).to_have_url(re.compile(r"\?verdict=Pass$"))
    expect(listed.locator("#found")).to_have_text("3 records")


def test_back_button_returns_to_the_previous_list(listed: Page) -> None:
    listed.get_by_role("link", name="Done").click()
    expect(listed.locator("#found")).to_have_text("0 records")
    listed.go_back()
    expect(listed.locator("#found")).to_have_text("3 records")
    expect(listed.get_by_role("heading", level=1)).to_have_text("evaluations")


def test_slash_focuses_the_search(listed: Page) -> None:
    listed.keyboard.press("/")
    expect(listed.get_by_label("Search")).to_be_focused()


def test_focus_stays_on_the_changed_filter(listed: Page) -> None:
    listed.get_by_label("Sort by").focus()
    listed.get_by_label("Sort by").select_option("task")
    expect(listed).to_have_url(re.compile(r"\?sort=task$"))
    expect(listed.get_by_label("Sort by")).to_be_focused()


def test_tasks_are_suggested_while_typing(listed: Page) -> None:
    listed.get_by_label("Task", exact=True).press_sequentially("b")
    expect(listed.locator("#task-choices option")).to_have_count(1)
    expect(listed).to_have_url(re.compile(r"/runs/\d+/$"))


@pytest.mark.parametrize("width", [320, 1280])
def test_record_list_does_not_scroll_sideways(listed: Page, width: int) -> None:
    listed.set_viewport_size({"width": width, "height": 800})
    listed.get_by_text("More filters").click()
    listed.get_by_text("Views").click()
    assert listed.evaluate("document.documentElement.scrollWidth") == width
