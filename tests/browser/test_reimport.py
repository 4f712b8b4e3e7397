"""A re-import: a lead resolves conflicts, and a reviewer resubmits outdated decisions."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Review, User
from tests.browser.conftest import open_runs
from tests.browser.screen import press
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = {"justification": "One step is missing.", "justification_by": "reviewer"}
OURS = {"Clarity": {"score": "Partial", **WORDS}}
THEIRS: dict[str, Any] = {
    "human_review_status": "Reviewed",
    "human_reviewer_id": "carla",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "Nothing follows."}},
}


@pytest.fixture
def reviewed(bo: User) -> list[Evaluation]:
    """Two records reviewed by bo."""
    import_data(file_of(line("eval_1"), line("eval_2")), run="Algebra")
    evaluations = list(Evaluation.objects.order_by("pk"))
    for evaluation in evaluations:
        decide(evaluation, bo, scores=OURS)
    return evaluations


@pytest.mark.exhaustive
def test_lead_resolves_conflicts_one_by_one_and_together(
    page: Page, live_server: LiveServer, lea: User, reviewed: list[Evaluation]
) -> None:
    import_data(file_of(line("eval_1", **THEIRS), line("eval_2", **THEIRS)), run="Algebra")
    open_runs(page, live_server.url, lea)
    page.get_by_role("link", name="Algebra", exact=True).click()
    page.get_by_role("link", name="Resolve conflicts").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 conflicts")
    page.get_by_role("article").first.get_by_role("button", name="Use imported review").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 conflict")
    page.get_by_label("All open conflicts of this run").check()
    page.get_by_role("button", name="Keep current reviews").click()
    expect(page.get_by_text("No open conflicts.")).to_be_visible()
    people = Evaluation.objects.order_by("pk").values_list("human_reviewer_id", flat=True)
    assert list(people) == ["carla", "bo"]


def test_reviewer_resubmits_an_outdated_decision(
    page: Page, live_server: LiveServer, ana: User, reviewed: list[Evaluation]
) -> None:
    judged = {"Clarity": {"score": "No", "justification": r"Ends with \(\frac{1}{3}\)."}}
    newer = line("eval_1", parsed_rubric_scores=judged, aggregated_score="Fail")
    import_data(file_of(newer), run="Algebra")
    open_runs(page, live_server.url, ana)
    page.get_by_role("button", name="Start reviewing").first.click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()  # keys count from now on
    expect(page.locator(".strip")).to_contain_text("Outdated decision by bo. Clarity: judge Yes → No")
    changes = page.locator("#changes-list")
    expect(changes).not_to_be_visible()
    page.get_by_role("link", name="Details").click()
    expect(changes.locator("ins").first).to_contain_text("No")
    expect(page.locator("#submit")).to_contain_text("Submit 1 change")
    press(page, "1", "n")
    page.wait_for_timeout(400)
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
    review = Review.objects.get(version=2)
    assert review.reviewer == ana
    assert review.corrected_scores == {"Clarity": {"score": "No", **WORDS}}
