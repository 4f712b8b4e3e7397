"""The dashboard in a browser: charts for keyboards and screen readers, help, spot checks."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, Run, SpotCheck, User
from tests.browser.conftest import open_runs
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dashboard(page: Page, live_server: LiveServer, lea: User, ana: User, bo: User) -> Page:
    """Lea's dashboard: ana decided two records, bo one."""
    run = Run.objects.create(name="Algebra")
    for reviewer in (ana, ana, bo):
        decide(EvaluationFactory.create(run=run), reviewer)
    open_runs(page, live_server.url, lea)
    page.get_by_role("link", name="Dashboard", exact=True).click()
    return page


def test_chart_shows_the_values_of_its_table(dashboard: Page) -> None:
    chart = dashboard.get_by_role("img", name="Reviewers as a chart")
    expect(chart).to_be_visible()
    drawn = """canvas => {
        const { labels, datasets } = Chart.getChart(canvas).data;
        return [labels, datasets.map(({ label, data }) => [label, data])];
    }"""
    assert chart.evaluate(drawn) == [["ana", "bo"], [["Done", [2, 1]]]]
    expect(
        dashboard.get_by_role("region", name="Reviewers", exact=True).get_by_role("row", name="ana")
    ).to_contain_text("2")


def test_arrow_keys_announce_chart_values(dashboard: Page) -> None:
    chart = dashboard.get_by_role("img", name="Reviewers as a chart")
    said = dashboard.locator("[data-chart]", has=chart).get_by_role("status")
    chart.focus()
    for key, words in {"ArrowDown": "ana: Done 2", "End": "bo: Done 1", "ArrowUp": "ana: Done 2"}.items():
        chart.press(key)
        expect(said).to_have_text(words)
    chart.press("Escape")
    expect(said).to_be_empty()


def test_chart_follows_the_colour_scheme(dashboard: Page) -> None:
    colour = "canvas => Chart.getChart(canvas).data.datasets[0].backgroundColor"
    chart = dashboard.get_by_role("img", name="Reviewers as a chart")
    dashboard.emulate_media(color_scheme="light")
    light = chart.evaluate(colour)
    dashboard.emulate_media(color_scheme="dark")
    dashboard.wait_for_function(f"light => ({colour})(document.querySelector('canvas')) !== light", arg=light)


def test_question_mark_explains_a_figure(dashboard: Page) -> None:
    why = dashboard.get_by_role("button", name="What is “Faster than reading time”?")
    why.focus()
    why.press("Enter")
    expect(dashboard.get_by_text("words a minute")).to_be_visible()
    dashboard.keyboard.press("Escape")
    expect(dashboard.get_by_text("words a minute")).to_be_hidden()


def test_lead_draws_and_completes_spot_checks(dashboard: Page) -> None:
    dashboard.get_by_role("region", name="Reviewers", exact=True).get_by_role("link", name="ana").click()
    dashboard.get_by_label("How many").fill("2")
    dashboard.get_by_role("button", name="Draw").click()
    expect(dashboard.get_by_role("heading", level=1)).to_contain_text("Spot check")
    dashboard.get_by_role("button", name="Agree").click()
    expect(dashboard.get_by_text("1 pending")).to_be_visible()
    dashboard.get_by_label("Note (required to reopen)").fill("Step 2 is wrong.")
    dashboard.get_by_role("button", name="Reopen").click()
    expect(dashboard.get_by_role("heading", name="Overturned decisions")).to_be_visible()
    expect(dashboard.get_by_role("region", name="Overturned decisions", exact=True)).to_contain_text(
        "Step 2 is wrong."
    )
    assert set(SpotCheck.objects.values_list("outcome", flat=True)) == {"agreed", "reopened"}
    assert Review.objects.filter(evaluation__human_review_status="Needs Review").count() == 1
