"""The record list in a browser: search and filters without reloads, and addresses."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run

pytestmark = pytest.mark.django_db(transaction=True)


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
