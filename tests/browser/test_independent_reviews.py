"""Independent reviews in a browser: adjudication, and a late submit."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import AuditEvent, Escalation, Run, User
from reviews.queue import claims
from tests.browser.conftest import start_session
from tests.browser.screen import SCORES, draft_is, heading, label, press, record, words_of
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = SCORES | {"depth": {"score": "Yes", "justification": r"It ends with \(\frac{1}{2}\) and is deep."}}


@pytest.fixture
def independent_review(algebra: Run, bo: User) -> Run:
    """Two reviewers per record; bo has reviewed the first."""
    Run.objects.update(overlap_share=1)
    decide(record("a-model"), bo, scores=OTHER)
    return algebra


def test_lead_adjudicates_disagreeing_reviews(
    page: Page, live_server: LiveServer, independent_review: Run, ana: User, lea: User
) -> None:
    claims.claim(evaluation_id=record("a-model").pk, reviewer=ana)
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{record('a-model').pk}/")
    heading(page, "a-model")
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Reviewers disagree; a lead will decide.")
    heading(page, "b-model")

    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/inbox/")
    page.get_by_role("link", name="Task 7 · a-model").click()
    page.get_by_role("button", name="Compare and decide").click()
    beside = page.get_by_role("row", name="Depth differs")
    expect(beside).to_contain_text("It ends with")
    expect(beside.locator(".katex")).to_have_count(1)
    reason = page.get_by_label("Reason nobody can judge it").bounding_box()
    close = page.get_by_role("button", name="Close without scores").bounding_box()
    assert reason
    assert close
    assert reason["y"] < close["y"] + close["height"] / 2 < reason["y"] + reason["height"]
    label(page, "1 score missing")
    press(page, "Shift+Digit2")
    label(page, "Submit decision")  # ana agreed with the judge
    press(page, "1")
    take = beside.get_by_role("button", name="Take bo's score: Depth")
    expect(take).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Words of bo")).to_be_visible()
    label(page, "Submit 1 change")
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Task 7 · a-model submitted")
    review = record("a-model").review
    assert review
    assert (review.reviewer, words_of(review)) == (lea, ["Yes", "Yes", "Yes", "Yes"])
    same = AuditEvent.objects.get(action="adjudicate", evaluation=record("a-model")).detail["same_scores"]
    assert (same["depth"], same["clarity"]) == (["bo"], ["bo", "ana"])
    assert (review.corrected_scores or {})["depth"] == OTHER["depth"] | {"justification_by": "reviewer"}


@pytest.mark.exhaustive
def test_late_submit_becomes_an_independent_review(screen: Page, bo: User) -> None:
    heading(screen, "a-model")
    seen = record("a-model")
    claims.clear_claim(seen)
    decide(record("a-model"), bo, scores=OTHER)
    press(screen, "a")
    expect(screen.get_by_role("alert").first).to_contain_text("You differ on 1 criterion.")
    draft_is(screen, "failing")  # its response replaces the strip
    screen.get_by_role("button", name="Submit as independent review").click()
    expect(screen.get_by_role("status")).to_contain_text("It differs from the decision; a lead will decide.")
    heading(screen, "b-model")
    assert Escalation.objects.get().evaluation == seen
    assert record("a-model").human_reviewer_id == "bo"
