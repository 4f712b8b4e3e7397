"""The dashboard in a browser: refresh, paper, help, spot checks."""

from itertools import product

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.dashboard.reviewer_pairs import FEWEST_RECORDS
from reviews.days import today
from reviews.models import CriterionDay, Overturn, Run, SpotCheck, User
from tests.browser.conftest import start_session
from tests.browser.screen import label, press, settle
from tests.support.factories import EvaluationFactory, UserFactory
from tests.support.work import decide, lock_in_scores

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dashboard(page: Page, live_server: LiveServer, lea: User, ana: User, bo: User) -> Page:
    """Lea's dashboard: ana decided two records, bo one."""
    run = Run.objects.create(name="Algebra")
    for reviewer in (ana, ana, bo):
        decide(EvaluationFactory.create(run=run), reviewer)
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/dashboard/")
    return page


def test_refresh_keeps_what_the_reader_opened_and_focused(dashboard: Page) -> None:
    dashboard.set_viewport_size({"width": 700, "height": 600})
    dashboard.locator("summary", has_text="Day by day").click()
    scrolled = dashboard.get_by_role("region", name="Reviewers, as a table", exact=True)
    link = scrolled.get_by_role("link", name="bo")
    link.focus()
    scrolled.evaluate("element => { element.scrollLeft = 30; }")
    place = "element => element.getBoundingClientRect().top"
    top = link.evaluate(place)
    decide(EvaluationFactory.create(run=Run.objects.get()), User.objects.get(username="bo"))
    with dashboard.expect_response("**/dashboard/"):
        dashboard.evaluate("htmx.trigger('#live', 'refresh')")
    expect(dashboard.locator("#figures-title + dl")).to_contain_text("4")
    expect(link).to_be_focused()
    expect(dashboard.locator("details.day-by-day")).to_have_attribute("open", "")
    assert scrolled.evaluate("element => element.scrollLeft") == 30
    assert abs(link.evaluate(place) - top) < 2


@pytest.fixture
def many(page: Page, live_server: LiveServer, lea: User) -> Page:
    """The dashboard with 30 reviewers who scored 12 criteria of the same records."""
    run = Run.objects.create(name="Algebra")
    people = [UserFactory.create(username=f"reviewer.{number:02}") for number in range(30)]
    criteria = [f"Criterion {number} of the rubric" for number in range(12)]
    CriterionDay.objects.bulk_create(
        CriterionDay(
            run=run, reviewer=person, day=today(), criterion=criterion, judged=40, overridden=place % 40
        )
        for place, (person, criterion) in enumerate(product(people, criteria))
    )
    for record in EvaluationFactory.create_batch(FEWEST_RECORDS, run=run):
        for number, person in enumerate(people):
            lock_in_scores(
                record, person, {"Clarity": "No" if number % 3 else "Yes"}, judged={"Clarity": "No"}
            )
    run.evaluations.update(human_review_status="Completed")
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/dashboard/")
    return page


@pytest.mark.exhaustive
def test_matrices_of_thirty_reviewers_fit_the_screen_and_the_paper(many: Page) -> None:
    for title, columns in (
        ("Changed scores by reviewer and criterion", 12),
        ("Agreement between reviewers", 29),
    ):
        region = many.get_by_role("region", name=f"{title}, as a table")
        expect(region.locator("thead th")).to_have_count(columns + 1)
        assert region.evaluate("it => it.scrollWidth <= it.clientWidth"), title
    reviewers = many.get_by_role("region", name="Reviewers, as a table", exact=True)
    assert reviewers.evaluate("it => it.scrollWidth <= it.clientWidth")
    many.emulate_media(media="print")
    for width in (1047, 718):
        many.set_viewport_size({"width": width, "height": 800})
        inside = "all => all.every((it) => it.getBoundingClientRect().right <= innerWidth)"
        assert many.locator(".matrix :is(th, td)").evaluate_all(inside), width


@pytest.mark.exhaustive
def test_printed_dashboard_is_as_wide_as_the_paper(dashboard: Page) -> None:
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    inside = "all => all.every((it) => it.getBoundingClientRect().right <= innerWidth)"
    dashboard.emulate_media(media="print")
    for width in (1047, 718):
        dashboard.set_viewport_size({"width": width, "height": 800})
        assert dashboard.evaluate(wide) == 0, width
        assert dashboard.locator("#live :is(th, td):not(.action)").evaluate_all(inside), width
    # On paper, nothing can be pressed, and the page says which days it covers.
    expect(dashboard.locator(".print-only").first).to_contain_text("Period: 7 d. As of 20")
    assert not dashboard.locator("#live :is(.action, summary, .button)").filter(visible=True).count()


def test_question_mark_explains_a_figure(dashboard: Page) -> None:
    why = dashboard.get_by_role("button", name="What is “Faster than reading time”?")
    why.focus()
    why.press("Enter")
    expect(dashboard.get_by_text("words a minute")).to_be_visible()
    dashboard.keyboard.press("Escape")
    expect(dashboard.get_by_text("words a minute")).to_be_hidden()


@pytest.mark.exhaustive
def test_lead_draws_and_completes_spot_checks(dashboard: Page, ana: User) -> None:
    decide(EvaluationFactory.create(run=Run.objects.get()), ana)
    dashboard.get_by_role("region", name="Reviewers", exact=True).get_by_role("link", name="ana").click()
    dashboard.get_by_label("How many").fill("3")
    dashboard.get_by_role("button", name="Draw").click()
    expect(dashboard.get_by_text("3 pending")).to_be_visible()
    label(dashboard, "Agree & next")
    press(dashboard, "a")
    expect(dashboard.get_by_text("2 pending")).to_be_visible()
    settle(dashboard)
    dashboard.get_by_label("Reason to correct or reopen").fill("Step 1 is missing.")
    dashboard.get_by_role("button", name="Reopen").click()
    expect(dashboard.get_by_text("1 pending")).to_be_visible()
    press(dashboard, "1", "p", "Escape")
    label(dashboard, "Save correction")
    press(dashboard, "a")
    expect(dashboard.get_by_text("Enter the reason for the correction.")).to_be_visible()
    dashboard.get_by_label("Reason to correct or reopen").fill("Step 2 is wrong.")
    settle(dashboard)
    dashboard.get_by_label("Reason to correct or reopen").press("Enter")
    expect(dashboard.get_by_text("No pending spot checks.")).to_be_visible()
    assert [one.outcome for one in SpotCheck.objects.order_by("pk")] == ["agreed", "reopened", "corrected"]
    reasons = Overturn.objects.order_by("pk").values_list("reason", flat=True)
    assert [*reasons] == ["Step 1 is missing.", "Step 2 is wrong."]
