"""The panes of the evidence, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, User
from tests.browser.conftest import open_runs
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def record(db: None) -> Evaluation:
    bring(task())
    return EvaluationFactory.create(
        task_id="7",
        structured_model_response={"final_answer": r"$\frac{1}{2}$", "steps": ["Add $a$."]},
        structured_ideal_response={"final_answer": "$2$", "steps": ["Divide $a$."]},
    )


@pytest.fixture
def screen(page: Page, live_server: LiveServer, ana: User, record: Evaluation) -> Page:
    open_runs(page, live_server.url, ana)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    return page


def pane(page: Page, name: str) -> None:
    """Expect only this pane to be visible."""
    expect(page.locator(".pane:visible")).to_have_count(1)
    expect(page.get_by_role("region", name=name)).to_be_visible()


def test_evidence_shows_one_pane_at_a_time(screen: Page) -> None:
    pane(screen, "Compare")
    for name, region in (
        ("Model", "Model response"),
        ("Reference", "Reference answer"),
        ("Raw", "Raw judge output"),
    ):
        screen.get_by_role("radio", name=name).check()
        pane(screen, region)


def test_question_is_above_other_panes_and_beside_them_on_wide_screens(screen: Page) -> None:
    def tops() -> list[float]:
        boxes = [screen.get_by_role("region", name=name).bounding_box() for name in ("Question", "Compare")]
        return [box["y"] for box in boxes if box]

    question, compare = tops()
    assert question + 100 < compare
    screen.set_viewport_size({"width": 1920, "height": 1080})
    question, compare = tops()
    assert question < compare < question + 100


def test_question_can_be_collapsed(screen: Page) -> None:
    question = screen.get_by_role("region", name="Question")
    expect(question.locator(".katex").first).to_be_visible()
    question.locator("summary").click()
    expect(question.locator(".katex").first).to_be_hidden()


def test_formulas_are_typeset_when_visible(screen: Page) -> None:
    model = screen.get_by_role("region", name="Model response", include_hidden=True)
    expect(screen.locator(".comparison .always .katex").first).to_be_visible()
    assert model.locator(".katex").count() == 0
    screen.get_by_role("radio", name="Model").check()
    expect(model.locator(".katex").first).to_be_visible()


def test_formula_source_can_be_shown(screen: Page) -> None:
    answer = screen.locator(".comparison .always .marked .math").first
    expect(answer.locator(".katex").first).to_be_visible()
    screen.keyboard.press("m")
    expect(answer).to_have_text(r"\frac{1}{2}")
    screen.keyboard.press("m")
    expect(answer.locator(".katex").first).to_be_visible()


def test_differences_are_highlighted_on_request(screen: Page) -> None:
    steps = screen.get_by_role("region", name="Steps")
    expect(screen.get_by_role("region", name="Final answer").locator("del")).to_be_visible()
    expect(steps.locator("del")).to_be_hidden()
    screen.get_by_label("Highlight differences").check()
    expect(steps.locator("del")).to_have_text("Add ")
    expect(steps.locator("ins")).to_have_text("Divide ")
    assert steps.locator(".katex ins, .katex del").count() == 0


def test_panes_and_differences_work_without_scripts(
    browser: Browser, live_server: LiveServer, screen: Page, record: Evaluation
) -> None:
    context = browser.new_context(
        java_script_enabled=False,
        storage_state=screen.context.storage_state(),
        viewport={"width": 1280, "height": 800},
    )
    page = context.new_page()
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    pane(page, "Compare")
    page.get_by_label("Highlight differences").check()
    expect(page.get_by_role("region", name="Steps").locator("del")).to_be_visible()
    page.get_by_role("radio", name="Raw").check()
    pane(page, "Raw judge output")
    context.close()
