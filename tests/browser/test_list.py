"""The record list in a browser: filters without reloads, addresses, keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Run, User
from reviews.search import indexing
from tests.browser.conftest import start_session
from tests.browser.screen import settle
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listed(page: Page, live_server: LiveServer, lea: User) -> Page:
    """Lea's list of a run with two records of o1 and one of gpt-4o."""
    models = {"a": "o1", "b": "o1", "c": "gpt-4o"}
    lines = (line(name, task_id=name, model_id=model) for name, model in models.items())
    indexing.index_import(import_data(file_of(*lines)))
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{Run.objects.get().pk}/")
    return page


def tasks(page: Page) -> list[str]:
    return page.locator(".evaluations tbody th").all_inner_texts()


def test_filters_are_typed_chosen_and_removed(listed: Page) -> None:
    search = listed.get_by_label("Search and filter")
    listed.keyboard.press("/")
    expect(search).to_be_focused()
    search.fill("verdict:pass gpt")
    search.press("Enter")
    expect(listed).to_have_url(re.compile(r"\?q=gpt&verdict=Pass$"))
    expect(listed.locator("#found")).to_have_text("1 record")
    assert tasks(listed) == ["c"]
    search.fill("")
    search.press("Enter")
    expect(listed).to_have_url(re.compile(r"\?verdict=Pass$"))
    listed.get_by_text("+ Filter").click()
    listed.get_by_role("group").get_by_text("Model", exact=True).click()
    listed.get_by_role("link", name="o1 2").click()
    expect(listed).to_have_url(re.compile(r"\?model=o1&verdict=Pass$"))
    expect(listed.locator("#found")).to_have_text("2 records")
    listed.get_by_role("link", name="Remove Model: o1").press("Delete")
    expect(listed).to_have_url(re.compile(r"\?verdict=Pass$"))
    expect(listed.get_by_role("link", name="Remove Verdict: Pass")).to_be_focused()
    search.press("Backspace")
    expect(listed).to_have_url(re.compile(r"/runs/\d+/$"))
    search.fill("colour:red")
    search.press("Enter")
    expect(listed.get_by_role("alert")).to_contain_text("“colour” is not a filter.")
    expect(listed.locator("#found")).to_have_text("3 records")


def test_keys_move_through_the_rows_that_a_search_has_found(listed: Page, live_server: LiveServer) -> None:
    current = listed.locator("[data-row][aria-current]")
    search = listed.get_by_label("Search and filter")
    search.fill("o1")
    search.press("Enter")
    expect(listed.locator("#evaluations [data-rows]")).to_be_focused()
    listed.keyboard.press("j")
    expect(current).to_contain_text("a")
    search.fill("nothing")
    search.press("Enter")
    expect(listed.locator("#found")).to_have_text("0 records")
    expect(search).to_be_focused()
    listed.goto(live_server.url)
    search = listed.get_by_label("Name of the run")
    search.fill(Run.objects.get().name)
    search.press("Enter")
    expect(listed.get_by_role("region", name="Runs")).to_be_focused()


def test_question_mark_shows_the_keys_of_lists_and_pages(listed: Page) -> None:
    sheet = listed.get_by_role("dialog", name="Keyboard shortcuts")
    listed.keyboard.press("?")
    expect(sheet).to_contain_text("Next row")
    expect(sheet).not_to_contain_text("criterion")
    listed.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    listed.keyboard.press("g")
    with listed.expect_navigation():
        listed.keyboard.press("r")
    listed.keyboard.press("?")
    expect(sheet).to_be_visible()


@pytest.mark.exhaustive
def test_keys_move_through_the_list_and_the_back_button_finds_the_place_again(listed: Page) -> None:
    current = listed.locator("[data-row][aria-current] th")
    listed.keyboard.press("j")
    expect(current).to_have_text("a")
    listed.keyboard.press("ArrowDown")
    listed.keyboard.press("j")
    listed.keyboard.press("j")
    expect(current).to_have_text("c")
    listed.keyboard.press("k")
    expect(current).to_have_text("b")
    with listed.expect_navigation(url=re.compile("/evaluations/")):
        listed.keyboard.press("Enter")
    listed.go_back()
    expect(current).to_have_text("b")
    listed.get_by_role("heading", level=1).click()
    with listed.expect_navigation(url=re.compile("/evaluations/")):
        listed.keyboard.press("Enter")
    listed.go_back()
    # The row is a link, with all its cells.
    with listed.expect_navigation(url=re.compile("/evaluations/")):
        listed.locator("[data-row]").first.get_by_text("Needs Review").click(force=True)
    listed.go_back()
    # It also returns to the list before another filter, and a changed filter keeps the focus.
    listed.get_by_role("link", name="Done").click()
    expect(listed.locator("#found")).to_have_text("0 records")
    listed.go_back()
    expect(listed.locator("#found")).to_have_text("3 records")
    expect(listed.get_by_role("heading", level=1)).to_have_text("evaluations")
    listed.get_by_label("Sort by").focus()
    listed.get_by_label("Sort by").select_option("task")
    expect(listed).to_have_url(re.compile(r"\?sort=task$"))
    expect(listed.get_by_label("Sort by")).to_be_focused()


def test_one_key_starts_a_filtered_list_or_the_queue_and_continues_from_the_home_page(listed: Page) -> None:
    address = listed.url
    listed.goto(f"{address}?model=gpt-4o")
    expect(listed.get_by_role("button", name="Review these records").filter(has_text="Z")).to_be_visible()
    with listed.expect_navigation(url=re.compile("/evaluations/")):
        listed.keyboard.press("z")
    expect(listed.get_by_role("heading", level=1)).to_contain_text("gpt-4o")
    Evaluation.objects.update(claimed_by=None, claimed_until=None)
    listed.goto(f"{address}review/")
    expect(listed.get_by_role("button", name="Start reviewing").filter(has_text="Z")).to_be_visible()
    settle(listed)
    listed.keyboard.press("z")
    expect(listed.get_by_role("heading", level=1)).to_contain_text("o1")
    listed.goto(address.partition("runs/")[0])
    expect(listed.get_by_role("link", name=re.compile("Continue.*Task a"))).to_be_visible()
    with listed.expect_navigation(url=re.compile("/evaluations/")):
        listed.keyboard.press("z")


@pytest.mark.exhaustive
def test_menus_suggest_tasks_while_typing_and_do_not_scroll_sideways(listed: Page) -> None:
    listed.get_by_text("+ Filter").click()
    listed.locator("summary", has_text="Task").click()
    listed.get_by_label("Task", exact=True).last.press_sequentially("b")
    expect(listed.locator("#task-choices option")).to_have_count(1)
    expect(listed).to_have_url(re.compile(r"/runs/\d+/$"))
    listed.get_by_text("Views", exact=True).click()
    listed.get_by_role("button", name="How to search").click()
    expect(listed.get_by_text("quotes around spaces")).to_be_visible()
    for width in (320, 1280):
        listed.set_viewport_size({"width": width, "height": 800})
        assert listed.evaluate("document.documentElement.scrollWidth") == width
