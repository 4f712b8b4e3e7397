"""The record list by keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Evaluation
from tests.browser.screen import settle

pytestmark = pytest.mark.django_db(transaction=True)


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
