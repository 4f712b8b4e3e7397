"""The record history in a browser: restoring an older version."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Run, User
from reviews.review.decisions import revise
from tests.browser.conftest import start_session
from tests.browser.screen import SCORES
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

OTHER_SCORES = SCORES | {"clarity": {"score": "No", "justification": r"Where is \(\frac{1}{2}\)?"}}


@pytest.fixture
def revised(algebra: Run, bo: User, lea: User) -> Evaluation:
    """A record decided by bo, then revised by lea."""
    first = decide(algebra.evaluations.earliest("pk"), bo, scores=SCORES)
    return decide(first.evaluation, lea, by=revise, scores=OTHER_SCORES).evaluation


def test_lead_restores_an_older_version(
    page: Page, live_server: LiveServer, lea: User, revised: Evaluation
) -> None:
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/evaluations/{revised.pk}/")
    page.get_by_role("link", name="History", exact=True).click()
    latest = page.get_by_role("listitem").filter(has_text="revised it: version 2")
    latest.get_by_text("2 fields changed since version 1").click()
    expect(latest.locator("ins").filter(has=page.locator(".katex"))).to_be_visible()
    page.get_by_text("Restore version 1").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Reason for restoring it").fill("It was clear.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Version 1 is current again, as version 3.")
    expect(page.locator("main").get_by_role("listitem").first).to_contain_text(
        "restored version 1 as version 3"
    )
    expect(page.locator("main").get_by_role("listitem").first).to_contain_text("It was clear.")
    revised.refresh_from_db()
    assert revised.human_corrected_scores == SCORES


def test_refused_button_explains_itself_and_does_nothing(
    page: Page, live_server: LiveServer, bo: User, revised: Evaluation
) -> None:
    start_session(page, live_server.url, bo)
    page.goto(f"{live_server.url}/evaluations/{revised.pk}/history/")
    button = page.get_by_role("button", name="Restore")
    expect(button).to_have_accessible_description("You need the lead role for this.")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Record history")
    revised.refresh_from_db()
    assert revised.human_corrected_scores == OTHER_SCORES
