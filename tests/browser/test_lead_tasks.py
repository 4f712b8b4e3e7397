"""The tasks of leads whose clicks `docs/leading.md` counts."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Escalation, Evaluation, User
from reviews.queue import claims
from reviews.review import escalations
from tests.browser.conftest import open_runs
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import SCORES, decide, evaluations

pytestmark = pytest.mark.django_db(transaction=True)
COUNTED = dict(
    re.findall(
        r"^\| ([^|]+) \|[^|]+\| (\d+) \|",
        (Path(settings.BASE_DIR) / "docs/leading.md").read_text(),
        re.MULTILINE,
    )
)


class Clicks:
    """Click and count the clicks."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, what: Locator) -> None:
        """Click once."""
        what.click()
        self.count += 1


def test_question_is_answered_in_the_inbox(page: Page, live_server: LiveServer, ana: User, lea: User) -> None:
    clicks = Clicks()
    record = EvaluationFactory.create()
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    escalations.escalate(
        evaluation_id=record.pk, reviewer=ana, kind="question", reason="question", note="Why?"
    )
    open_runs(page, live_server.url, lea)
    clicks.on(page.get_by_role("link", name="Inbox 1"))
    page.locator("#inbox-pane textarea").fill("Because.")
    clicks.on(page.get_by_role("button", name="Answer and return to queue"))
    expect(page.get_by_text("You're all caught up.")).to_be_visible()
    assert Escalation.objects.get().answer == "Because."
    assert clicks.count == int(COUNTED["answer a question"])


def test_side_of_a_reviewer_is_taken_beside_the_inbox_by_a_key_or_a_click(
    page: Page, live_server: LiveServer, ana: User, bo: User, lea: User
) -> None:
    run = RunFactory.create(overlap_share=1, overlap=2)
    other = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": ""}}
    records = EvaluationFactory.create_batch(2, run=run)
    for record in records:
        decide(record, ana)
        decide(record, bo, scores=other)
    clicks = Clicks()
    open_runs(page, live_server.url, lea)
    clicks.on(page.get_by_role("link", name="Inbox 2"))
    pane = page.locator("#inbox-pane")
    expect(pane).to_contain_text(records[0].title)
    expect(pane.get_by_role("button", name="Take bo's")).to_contain_text("2")
    expect(page.locator("[data-row][aria-current]")).to_be_visible()  # keys work from now on
    page.keyboard.press("2")
    expect(page.get_by_role("status").first).to_contain_text(f"Settled: {records[0].title}.")
    expect(pane).to_contain_text(records[1].title)
    clicks.on(page.get_by_role("link", name=records[1].title))
    clicks.on(pane.get_by_role("button", name="Take bo's"))
    expect(page.get_by_text("You're all caught up.")).to_be_visible()
    decided = [record.review for record in Evaluation.objects.filter(pk__in=[one.pk for one in records])]
    assert [review and review.corrected_scores for review in decided] == [other, other]
    assert clicks.count == int(COUNTED["settle a disagreement with a reviewer's scores"])


def type_meanwhile(route: Route) -> None:
    """Type a number before a preview arrives."""
    route.request.frame.get_by_label("Number of records for bo").press_sequentially("3")
    route.continue_()


@pytest.mark.exhaustive
def test_records_of_a_run_are_split_among_three_people(
    page: Page, live_server: LiveServer, ana: User, bo: User, lea: User
) -> None:
    clicks = Clicks()
    evaluations(RunFactory.create(name="Algebra"), tasks=["1", "2", "3", "4", "5", "6"])
    open_runs(page, live_server.url, lea)
    clicks.on(page.get_by_role("link", name="Dashboard", exact=True).first)
    clicks.on(page.get_by_role("link", name="Assign or prioritise"))
    clicks.on(page.get_by_role("link", name="Split"))
    for number, person in enumerate((ana, bo, lea), start=1):
        clicks.on(page.get_by_role("checkbox", name=person.name, exact=True))
        expect(page.locator("#bulk")).to_contain_text(f"among {number} p")
    # A number that is typed while another one is previewed stays.
    page.route("**/bulk-changes/?*", type_meanwhile, times=1)
    page.get_by_label("Number of records for ana").press_sequentially("2")
    page.get_by_label("Number of records for bo").focus()
    expect(page.get_by_role("row", name="lea")).to_contain_text("1")
    clicks.on(page.get_by_role("button", name="Apply"))
    expect(page.get_by_role("status").first).to_be_visible()
    people = Evaluation.objects.values_list("assigned_to__username", flat=True)
    assert sorted(name or "" for name in people) == ["ana", "ana", "bo", "bo", "bo", "lea"]
    assert clicks.count == int(COUNTED["hand 120 records to three people"])
