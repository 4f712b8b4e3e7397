"""The desk in a real browser: charts that keys and screen readers can read, and what stands behind a “?”."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, Run, SpotCheck, User
from tests.browser.conftest import log_in
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(page: Page, live_server: LiveServer, lea: User, ana: User, bo: User) -> Page:
    """Lea's desk: ana decided two records, bo one."""
    run = Run.objects.create(name="Algebra")
    for reviewer in (ana, ana, bo):
        decide(EvaluationFactory.create(run=run), reviewer)
    log_in(page, live_server.url, lea)
    page.get_by_role("link", name="Dashboard", exact=True).click()
    return page


def test_a_chart_shows_what_its_table_says(desk: Page) -> None:
    chart = desk.get_by_role("img", name="Reviewers as a chart")
    expect(chart).to_be_visible()
    drawn = """canvas => {
        const { labels, datasets } = Chart.getChart(canvas).data;
        return [labels, datasets.map(({ label, data }) => [label, data])];
    }"""
    assert chart.evaluate(drawn) == [["ana", "bo"], [["Done", [2, 1]]]]
    expect(
        desk.get_by_role("region", name="Reviewers", exact=True).get_by_role("row", name="ana")
    ).to_contain_text("2")


def test_arrow_keys_read_a_chart_out(desk: Page) -> None:
    chart = desk.get_by_role("img", name="Reviewers as a chart")
    said = desk.locator("[data-chart]", has=chart).get_by_role("status")
    chart.focus()
    for key, words in {"ArrowDown": "ana: Done 2", "End": "bo: Done 1", "ArrowUp": "ana: Done 2"}.items():
        chart.press(key)
        expect(said).to_have_text(words)
    chart.press("Escape")
    expect(said).to_be_empty()


def test_a_chart_is_drawn_in_the_colours_of_the_theme(desk: Page) -> None:
    colour = "canvas => Chart.getChart(canvas).data.datasets[0].backgroundColor"
    chart = desk.get_by_role("img", name="Reviewers as a chart")
    desk.emulate_media(color_scheme="light")
    light = chart.evaluate(colour)
    desk.emulate_media(color_scheme="dark")
    desk.wait_for_function(f"light => ({colour})(document.querySelector('canvas')) !== light", arg=light)


def test_a_question_mark_says_what_a_figure_is(desk: Page) -> None:
    why = desk.get_by_role("button", name="What is “Faster than reading time”?")
    why.focus()
    why.press("Enter")
    expect(desk.get_by_text("words a minute")).to_be_visible()
    desk.keyboard.press("Escape")
    expect(desk.get_by_text("words a minute")).to_be_hidden()


def test_a_spot_check_is_drawn_and_gone_through(desk: Page) -> None:
    desk.get_by_role("region", name="Reviewers", exact=True).get_by_role("link", name="ana").click()
    desk.get_by_label("How many").fill("2")
    desk.get_by_role("button", name="Draw").click()
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Spot check")
    desk.get_by_role("button", name="Agree").click()
    expect(desk.get_by_text("1 pending")).to_be_visible()
    desk.get_by_label("Note (required to reopen)").fill("Step 2 is wrong.")
    desk.get_by_role("button", name="Reopen").click()
    expect(desk.get_by_role("heading", name="Overturned decisions")).to_be_visible()
    expect(desk.get_by_role("region", name="Overturned decisions", exact=True)).to_contain_text(
        "Step 2 is wrong."
    )
    assert set(SpotCheck.objects.values_list("outcome", flat=True)) == {"agreed", "reopened"}
    assert Review.objects.filter(evaluation__human_review_status="Needs Review").count() == 1
