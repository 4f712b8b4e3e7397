"""The palette: opened by Ctrl+K, it finds pages, commands and records by keyboard."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run, Skip
from tests.browser.screen import heading, is_at, settle

pytestmark = pytest.mark.django_db(transaction=True)


def test_palette_runs_a_command_and_opens_a_record(screen: Page) -> None:
    words = screen.get_by_role("combobox", name="Search and commands")
    settle(screen)
    screen.keyboard.press("Control+k")
    expect(words).to_be_focused()
    screen.keyboard.type("skip")
    expect(screen.get_by_role("option", selected=True)).to_contain_text("Skip")
    screen.keyboard.press("Enter")
    expect(words).to_be_hidden()
    heading(screen, "b-model")
    assert Skip.objects.count() == 1

    screen.keyboard.press("Control+k")
    words.fill("7")
    screen.get_by_role("option", name="c-model").wait_for()
    screen.keyboard.press("ArrowUp")
    expect(screen.get_by_role("option", selected=True)).to_contain_text("c-model")
    with screen.expect_navigation():
        screen.keyboard.press("Enter")
    heading(screen, "c-model")
    is_at(screen, "c-model")

    screen.keyboard.press("Control+k")
    words.fill("no such words")
    expect(screen.get_by_text("Nothing found.")).to_be_visible()
    screen.keyboard.press("Escape")
    expect(words).to_be_hidden()


@pytest.mark.exhaustive
def test_palette_offers_commands_of_a_record_only_where_there_is_one(
    screen: Page, live_server: LiveServer, algebra: Run
) -> None:
    submit = screen.get_by_role("option", name="Submit and next")
    screen.keyboard.press("Control+k")
    expect(submit).to_be_visible()
    screen.goto(live_server.url + reverse("review", args=[algebra.pk]))
    screen.keyboard.press("Control+k")
    expect(screen.get_by_role("option", name="Undo your last action")).to_be_visible()
    expect(submit).to_be_hidden()
