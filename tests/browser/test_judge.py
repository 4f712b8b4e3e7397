"""The judge pages in a browser: links from counts to records, and the printed report."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run, User
from tests.browser.conftest import start_session
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def judged(page: Page, live_server: LiveServer, lea: User, ana: User) -> Page:
    """The page of a run in which ana changed one score."""
    run = Run.objects.create(name="Algebra")
    record = EvaluationFactory.create(run=run, task_id="7", model_id="o1")
    decide(record, ana, judged={"Clarity": "Yes", "Conclusion Accuracy": "Yes"})
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{run.pk}/")
    return page


@pytest.mark.exhaustive
def test_count_links_to_its_records(judged: Page) -> None:
    judged.get_by_role("link", name="View details").click()
    judged.get_by_role("link", name="Errors").click()
    judged.get_by_text("Confusion matrices of").click()
    judged.get_by_role("link", name="1 record: judge Yes, human No").click()
    expect(judged.get_by_role("heading", level=1)).to_have_text("Conclusion Accuracy: judge Yes, human No")
    expect(judged.get_by_role("rowheader", name="Task 7 · o1")).to_be_visible()


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [390, 320])
def test_link_above_the_tabs_begins_at_their_edge_on_a_phone(judged: Page, width: int) -> None:
    judged.set_viewport_size({"width": width, "height": 844})
    judged.get_by_role("link", name="View details").click()
    edges = judged.evaluate("""() => {
        const text = document.createRange();
        text.selectNodeContents(document.querySelector(".page > header .cluster a"));
        return [text, document.querySelector(".tabs")].map((one) => one.getBoundingClientRect().left);
    }""")
    assert edges[0] == edges[1]


@pytest.mark.exhaustive
def test_printed_report_explains_undefined_values(judged: Page) -> None:
    judged.get_by_role("link", name="Judge accuracy").click()
    judged.get_by_role("link", name="Report").click()
    judged.locator("summary").filter(has_text="agreement").click()
    question = judged.get_by_role("button", name="What is “Kappa”?").first
    reason = judged.locator(".print-only").filter(has_text="Kappa of").first
    expect(question).to_be_visible()
    expect(reason).to_be_hidden()
    judged.emulate_media(media="print")
    expect(question).to_be_hidden()
    expect(reason).to_be_visible()
    expect(judged.get_by_role("navigation", name="Judge")).to_be_hidden()
