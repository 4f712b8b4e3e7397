"""Lists and tables on small screens."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, User
from tests.browser.conftest import checked, start_session
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.exhaustive
def test_sentences_in_tables_on_a_phone_are_no_columns_of_syllables(
    browser: Browser, live_server: LiveServer, ana: User, max: User
) -> None:
    source = import_data(file_of(line("a"), b"no record"), run="files").target_run.imports.get()
    page = browser.new_page(viewport={"width": 320, "height": 640})
    with checked(page):
        start_session(page, live_server.url, max)
        for path, cell in ((reverse("import", args=[source.pk]), ".reason"), (reverse("workload"), ".words")):
            page.goto(live_server.url + path)
            assert page.locator(cell).first.evaluate("it => it.clientWidth") >= 190, path
    page.close()


_LISTS = ("runs", "people", "jobs", "workload", "my-reviews", "dashboard", "my-activity", "decisions")


@pytest.mark.parametrize("width", [320, pytest.param(390, marks=pytest.mark.exhaustive)])
def test_lists_need_no_scrolling_on_a_phone(
    browser: Browser, live_server: LiveServer, max: User, ana: User, width: int
) -> None:
    source = import_data(file_of(line("eval_0")), run="A run with a long name, imported from a file")
    source.target_run.evaluations.update(assigned_to=ana)
    decide(Evaluation.objects.get(), max)
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    start_session(page, live_server.url, max)
    run = reverse("run", args=[source.target_run.pk])
    for name in (*map(reverse, _LISTS), run):
        page.goto(live_server.url + name)
        page.locator("details:has(table)").evaluate_all(
            "them => them.forEach((each) => { each.open = true; })"
        )
        assert page.locator(".stacked tbody td:visible").count() > 2, name
        # A matrix is read in both directions.
        boxes = page.locator(".scroll:has(table:not(.matrix))").evaluate_all(
            "boxes => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
        )
        assert boxes == 0, name
    page.goto(live_server.url + reverse("people"))
    shown = page.locator("td[data-column='Role']").first
    assert shown.evaluate("cell => getComputedStyle(cell, '::before').content") == '"Role: "'
    expect(page.get_by_role("columnheader")).to_have_count(0)
    context.close()
