"""A long session of a hasty reviewer: only intended decisions are made, and no text is lost."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Draft, Escalation, Evaluation, Review, Run, User
from tests.browser.conftest import start_session
from tests.browser.screen import SCORES, settle, words_of
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

RECORDS = 12  # more than there are actions
PAUSE_MS = 400  # ends a burst of keys
AGREED = [entry["score"] for entry in SCORES.values()]


@pytest.fixture(autouse=True)
def _short_guard() -> None:
    """Keep the guard of real reviewers."""


@dataclass
class Reviewer:
    """Ana's intentions: what she means to decide, by model."""

    page: Page
    url: str
    person: User
    #: Model -> the scores, the comment and the reason of the first criterion.
    meant: dict[str, tuple[list[str], str | None, str | None]] = field(default_factory=dict)
    #: Each is decided once and skipped at most once.
    skipped: set[str] = field(default_factory=set)

    @property
    def model(self) -> str:
        """The model of the record on the screen; empty at the end of the queue."""
        title = self.page.get_by_role("heading", level=1).inner_text()
        return title.split(" · ")[1].split()[0] if " · " in title else ""

    def means(
        self, *, words: list[str] = AGREED, comment: str | None = None, reason: str | None = None
    ) -> None:
        self.meant[self.model] = (words, comment, reason)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    # ---- what she does with a record

    def agree(self) -> None:
        self.means()
        self.press("a")

    def agree_by_double_click(self) -> None:
        self.means()
        self.page.locator("#submit").dblclick()

    def override(self) -> None:
        self.means(words=[AGREED[0], "Partial", *AGREED[2:]])
        self.press("2", "p", "Escape", "a")

    def comment(self) -> None:
        self.means(comment="Read with a ruler.")
        self.press("c")
        self.write("Read with a ruler.")
        self.press("Control+Enter")

    def give_a_reason(self) -> None:
        self.means(words=["Yes", *AGREED[1:]], reason="answer is right")
        self.press("1", "y", "Enter")
        self.write("answer is right")
        self.press("Control+Enter")

    def type_without_a_field(self) -> None:
        """The first `a` submits the record; the rest must not reach the next one."""
        self.means()
        self.write("answer is right")
        self.page.wait_for_timeout(PAUSE_MS)

    def skip(self) -> None:
        if self.model in self.skipped:
            self.agree()
        else:
            self.skipped.add(self.model)
            self.press("s")

    def undo_and_decide_again(self) -> None:
        model = self.model
        self.agree()
        self.has_left(model)
        settle(self.page)
        self.press("u")
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(f"{model} ")
        settle(self.page)
        self.override()

    def submit_offline(self) -> None:
        self.page.context.set_offline(True)
        self.comment()
        expect(self.strip).to_contain_text("Couldn't submit: you're offline")
        self.page.context.set_offline(False)
        settle(self.page)
        self.strip.get_by_role("button", name="Submit again").click()

    def submit_signed_out(self) -> None:
        Session.objects.all().delete()
        self.comment()
        expect(self.strip).to_contain_text("You've been signed out")
        start_session(self.page, self.url, self.person)
        self.page.evaluate("dispatchEvent(new Event('focus'))")  # as on the way back from the other tab
        expect(self.strip).to_contain_text("This record isn't submitted yet")
        settle(self.page)
        self.press("Control+Enter")

    def reload_in_the_middle(self) -> None:
        self.means(comment="Half a sentence.")
        self.press("c")
        self.write("Half a sentence.")
        # Until the last submit is saved, the address is that of its record, which a reload would show.
        self.page.wait_for_function(
            "() => location.pathname === document.querySelector('#screen').dataset.url"
        )
        self.page.reload()
        expect(self.page.get_by_label("Comment")).to_have_value("Half a sentence.")
        settle(self.page)
        self.press("Control+Enter")

    @property
    def strip(self) -> Locator:
        return self.page.locator("#strip .strip")

    def has_left(self, model: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).not_to_contain_text(f"{model} ")


ACTIONS: tuple[Callable[[Reviewer], None], ...] = (
    Reviewer.agree,
    Reviewer.agree_by_double_click,
    Reviewer.override,
    Reviewer.comment,
    Reviewer.give_a_reason,
    Reviewer.type_without_a_field,
    Reviewer.skip,
    Reviewer.undo_and_decide_again,
    Reviewer.submit_offline,
    Reviewer.submit_signed_out,
    Reviewer.reload_in_the_middle,
)


@pytest.fixture
def run(db: None) -> Run:
    run = RunFactory.create(name="Algebra")
    for number in range(RECORDS):
        EvaluationFactory.create(run=run, model_id=f"m{number:02}", parsed_rubric_scores=SCORES)
    return run


@pytest.mark.exhaustive
def test_long_session_makes_no_decision_that_was_not_meant(
    page: Page, live_server: LiveServer, ana: User, run: Run
) -> None:
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/runs/{run.pk}/review/")
    page.get_by_role("button", name="Start reviewing").click()
    page.locator("#criteria").wait_for()
    chance = random.Random(7)
    reviewer = Reviewer(page, live_server.url, ana)
    # Each action once before any comes again.
    plan = [act for _ in range(RECORDS) for act in chance.sample(ACTIONS, len(ACTIONS))]
    for act in plan:
        settle(page)
        model = reviewer.model
        if not model:
            page.get_by_role("button", name="Review skipped records").click()
            page.locator("#criteria").wait_for()
            continue
        act(reviewer)
        reviewer.has_left(model)
        if len(reviewer.meant) == RECORDS:
            break
    expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
    decided = {
        record.model_id: (words_of(record.review), record.review.comments, reason_of(record.review))
        for record in Evaluation.objects.select_related("review")
        if record.review
    }
    assert decided == reviewer.meant
    assert len(decided) == RECORDS
    assert not Escalation.objects.exists()
    assert not Draft.objects.exists()


def reason_of(review: Review) -> str | None:
    """The reviewer's words for the first criterion."""
    entry = review.corrected_scores[next(iter(SCORES))]  # type: ignore[index]
    return entry["justification"] if entry.get("justification_by") == "reviewer" else None
