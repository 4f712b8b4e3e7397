"""Scores in a range of numbers, by keyboard and by pointer."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from reviews.records.scales import PairwiseScale, RangeScale
from tests.browser.conftest import start_session
from tests.browser.screen import label, press, scores_of, verdict
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.rubrics import rubric_data
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)
SCALE = RangeScale(1, 10, pass_from=7, partial_from=4)


@pytest.fixture
def ten(page: Page, live_server: LiveServer, ana: User) -> Page:
    """The screen of a record with two scores from 1 to 10: 3 and 8."""
    run = RunFactory.create(rubric=rubric_data("depth", "clarity", scale=SCALE))
    scores = {
        "depth": {"score": 3, "justification": "Shallow."},
        "clarity": {"score": 8, "justification": "Clear."},
    }
    record = EvaluationFactory.create(run=run, parsed_rubric_scores=scores, aggregated_score=None)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    return page


def decided() -> dict[str, Any]:
    """Return the scores of the decision."""
    return scores_of(Review.objects.get())


def test_typed_number_within_the_range_overrides_the_judge_with_a_cause(ten: Page) -> None:
    number = ten.get_by_label("Score of criterion 1, from 1 to 10")
    strict, lenient = (
        ten.locator("#criterion-0").get_by_text(words) for words in ("Too strict", "Too lenient")
    )
    press(ten, "1")
    ten.keyboard.type("11")
    label(ten, "1 score off the scale")
    press(ten, "a")
    assert not Review.objects.exists()
    number.fill("9")
    verdict(ten, "Fail → Pass")
    label(ten, "Submit 1 change")
    press(ten, "Enter")
    expect(strict).to_be_visible()
    expect(lenient).to_be_hidden()
    number.fill("1")
    expect(lenient).to_be_visible()
    expect(strict).to_be_hidden()
    number.fill("9")
    press(ten, "Enter")
    press(ten, "2", "a")
    expect(ten.locator("#review-form")).to_be_hidden()
    assert decided()["depth"] == {
        "score": 9,
        "justification": "Shallow.",
        "justification_by": "judge",
    }
    assert decided()["clarity"] == {"score": 8, "justification": "Clear."}
    assert Review.objects.get().causes == {"depth": "misread the answer"}


@pytest.mark.exhaustive
def test_track_and_arrow_keys_change_the_number_and_letters_remain_commands(ten: Page) -> None:
    ten.locator("#criterion-0 .track").fill("5")
    expect(ten.get_by_label("Score of criterion 1, from 1 to 10")).to_have_value("5")
    verdict(ten, "Fail → Partial")
    expect(ten.locator("#criterion-0 .track")).to_have_css("opacity", "1")
    ten.get_by_label("Score of criterion 1, from 1 to 10").fill("")
    expect(ten.locator("#criterion-0 .track")).to_have_css("opacity", "0.5")
    ten.locator("#criterion-0 .track").fill("5")
    press(ten, "2", "ArrowUp", "ArrowUp")
    label(ten, "Submit 2 changes")
    press(ten, "Enter", "Escape", "a")
    expect(ten.locator("#review-form")).to_be_hidden()
    assert (decided()["depth"]["score"], decided()["clarity"]["score"]) == (5, 10)


@pytest.mark.exhaustive
def test_record_without_a_verdict_is_scored(page: Page, live_server: LiveServer, ana: User) -> None:
    run = RunFactory.create(rubric=rubric_data("winner", scale=PairwiseScale("model_1", "model_2")))
    record = EvaluationFactory.create(run=run, parsed_rubric_scores={"winner": {"score": "model_1"}})
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    expect(page.locator("#submit")).to_contain_text("Accept scores as read")
    expect(page.locator("#verdict")).to_have_count(0)
    press(page, "b")
    label(page, "Submit 1 change")
    press(page, "Escape", "a")
    expect(page.locator("#review-form")).to_be_hidden()
    assert decided()["winner"]["score"] == "model_2"


@pytest.mark.exhaustive
@pytest.mark.parametrize("scale", [SCALE, RangeScale(1, 5)], ids=["field", "buttons"])
def test_shift_and_a_digit_take_a_reviewers_number(
    page: Page, live_server: LiveServer, ana: User, bo: User, lea: User, *, scale: RangeScale
) -> None:
    run = RunFactory.create(rubric=rubric_data("depth", scale=scale), overlap_share=1)
    judged = {"depth": {"score": 3, "justification": "Shallow."}}
    record = EvaluationFactory.create(run=run, parsed_rubric_scores=judged, aggregated_score=None)
    for person, score in ((ana, 5), (bo, 4)):
        entry = {"depth": {"score": score, "justification": "Shallow."}}
        decide(Evaluation.objects.get(pk=record.pk), person, scores=entry, origins={"depth": "parsed"})
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    page.get_by_role("button", name="Review this").click()
    take = page.get_by_role("button", name="Take bo's score: depth")
    expect(take).to_contain_text("⇧2")
    press(page, "Shift+Digit2")
    expect(take).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#criterion-0")).to_contain_text("3 → 4")
