"""Digits as scores: with Shift they choose causes, or score all criteria."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Review, User
from reviews.queue import claims
from reviews.records.rubric import VerdictRule
from tests.browser.conftest import start_session
from tests.browser.screen import (
    label,
    press,
    verdict,
    words_of,
)
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def numbers(db: None) -> int:
    """A record with scores from 5 to 1 and the mean as verdict."""
    run = RunFactory.create(
        rubric=rubric_data("depth", "clarity", values=(5, 4, 3, 2, 1), rule=VerdictRule("mean", 4, 2.5)),
    )
    scores = {name: {"score": 3, "justification": ""} for name in ("depth", "clarity")}
    return EvaluationFactory.create(run=run, parsed_rubric_scores=scores, aggregated_score=None).pk


def test_digits_are_scores_with_shift_causes_and_a_change_of_direction_drops_the_cause(
    page: Page, live_server: LiveServer, ana: User, numbers: int
) -> None:
    claims.claim(evaluation_id=numbers, reviewer=ana)
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{numbers}/")
    verdict(page, "Partial")
    row = page.get_by_role("group", name="depth")
    press(page, "5", "Shift+Digit1")
    verdict(page, "Partial → Pass")
    expect(row).to_contain_text("3 → 5 Too strict")
    press(page, "k", "1")
    expect(row).to_contain_text("3 → 1 Add a cause")
    # The next digit is the next score. A digit off the scale does nothing.
    press(page, "7", "4", "Escape", "k", "k", "5", "Shift+Digit1", "a")
    expect(page.get_by_role("status")).to_contain_text("submitted")
    review = Review.objects.get()
    assert words_of(review) == [5, 4]
    assert review.causes == {"depth": "too strict"}


@pytest.mark.exhaustive
def test_shift_and_a_digit_scores_all_criteria(
    page: Page, live_server: LiveServer, ana: User, numbers: int
) -> None:
    claims.claim(evaluation_id=numbers, reviewer=ana)
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{numbers}/")
    press(page, "Shift+Digit2")
    label(page, "Submit 2 changes")
    press(page, "4", "Escape", "a")
    expect(page.get_by_role("status")).to_contain_text("submitted")
    assert words_of(Review.objects.get()) == [4, 2]
