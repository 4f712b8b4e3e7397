"""Keyboard shortcuts of the review screen: the number of keys per decision."""

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Escalation, Run, Skip
from tests.browser.screen import (
    SCORES,
    heading,
    hold_submits,
    label,
    press,
    record,
    saved,
    scores_of,
    settle,
    verdict,
    wait_for_prefetch,
    words_of,
)
from tests.support.factories import EvaluationFactory
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db(transaction=True)


# Number of keys


def test_agreeing_takes_one_key_an_override_with_cause_four_and_scoring_all_no_two(screen: Page) -> None:
    assert press(screen, "a") == 1
    heading(screen, "b-model")
    assert saved(screen, "a-model").corrected_scores == SCORES
    assert press(screen, "2", "n", "2", "a") == 4
    heading(screen, "c-model")
    review = saved(screen, "b-model")
    assert words_of(review) == ["No", "No", "Yes", "Yes"]
    assert review.causes == {"rigour": "misread the answer"}
    assert press(screen, "Shift+N", "a") == 2
    assert words_of(saved(screen, "c-model")) == ["No"] * 4


@pytest.mark.parametrize("opener", ["e", pytest.param("Enter", marks=pytest.mark.exhaustive)])
def test_override_with_typed_reason_takes_four_keys_and_the_text(screen: Page, opener: str) -> None:
    keys = press(screen, "2", "n", opener)
    screen.keyboard.type("2 is not prime.\nSee $x^2$.")
    assert keys + press(screen, "Control+Enter") == 4
    review = saved(screen, "a-model")
    assert scores_of(review)["rigour"] == {
        "score": "No",
        "justification": "2 is not prime.\nSee $x^2$.",
        "justification_by": "reviewer",
    }
    assert review.causes == {}


@pytest.mark.exhaustive
def test_scoring_four_criteria_takes_five_keys_a_comment_two_and_skipping_one(screen: Page) -> None:
    run = record("a-model").run
    Run.objects.update(rubric=rubric_data(*SCORES))
    EvaluationFactory.create(
        run=run, task_id="7", model_id="d-model", parsed_rubric_scores={}, aggregated_score=None
    )
    assert press(screen, "y", "n", "n", "y", "a") == 5
    heading(screen, "b-model")
    review = saved(screen, "a-model")
    assert words_of(review) == ["Yes", "No", "No", "Yes"]
    assert review.causes == {}
    keys = press(screen, "c")
    screen.keyboard.type("Yes: assess again.")
    assert keys + press(screen, "Control+Enter") == 2
    heading(screen, "c-model")
    assert saved(screen, "b-model").comments == "Yes: assess again."
    assert press(screen, "s") == 1
    heading(screen, "d-model")
    assert Skip.objects.get().evaluation == record("c-model")
    label(screen, "4 scores missing")
    assert press(screen, "y", "n", "n", "y", "a") == 5
    assert words_of(saved(screen, "d-model")) == ["Yes", "No", "No", "Yes"]


@pytest.mark.exhaustive
def test_undo_takes_one_key_restores_the_scores_and_waits_for_a_running_submit(screen: Page) -> None:
    press(screen, "2", "n", "2", "a")
    saved(screen, "a-model")
    assert press(screen, "u") == 1
    heading(screen, "a-model")
    verdict(screen, "Fail")
    rigour = screen.get_by_role("group", name="rigour")
    expect(rigour.get_by_role("radio", name="No", exact=True)).to_be_checked()
    expect(rigour).to_contain_text("Yes → No Misread the answer")
    assert record("a-model").in_queue
    wait_for_prefetch(screen, "b-model")
    held = hold_submits(screen)
    press(screen, "a")
    heading(screen, "b-model")
    press(screen, "u")
    held[0].continue_()
    heading(screen, "a-model")
    expect(screen.get_by_role("status")).to_contain_text("Undone. Task 7 · a-model")
    assert record("a-model").in_queue


# After an override


@pytest.mark.exhaustive
def test_escape_moving_back_and_a_click_choose_the_cause_that_the_next_key_sets_or_removes(
    screen: Page,
) -> None:
    press(screen, "2", "n", "Escape", "1", "y", "Escape", "a")
    heading(screen, "b-model")
    review = saved(screen, "a-model")
    assert words_of(review) == ["Yes", "No", "Yes", "Yes"]
    assert review.causes == {}
    press(screen, "2", "n", "k", "p", "1", "a")
    heading(screen, "c-model")
    review = saved(screen, "b-model")
    assert words_of(review) == ["No", "Partial", "Yes", "Yes"]
    assert review.causes == {"rigour": "too lenient"}
    settle(screen)
    depth, rigour = (screen.get_by_role("group", name=name) for name in ("depth", "rigour"))
    depth.get_by_role("radio", name="Yes").click()
    press(screen, "6")
    # A cause can be removed.
    press(screen, "2", "n", "2", "2")
    expect(rigour).to_contain_text("Yes → No Misread the answer")
    rigour.get_by_role("button", name="Remove the cause").click()
    expect(rigour).to_contain_text("Yes → No Add a cause")
    press(screen, "Control+Enter")
    assert saved(screen, "c-model").causes == {"depth": "wrong reference"}


# Escalations


@pytest.mark.exhaustive
def test_escalating_takes_three_keys_requires_a_reason_and_can_be_withdrawn(screen: Page) -> None:
    EvaluationFactory.create(
        run=record("a-model").run, task_id="7", model_id="d-model", parsed_rubric_scores=SCORES
    )
    assert press(screen, "x", "1", "Enter") == 3
    heading(screen, "b-model")
    raised = Escalation.objects.get()
    assert (raised.evaluation, raised.kind, raised.reason) == (
        record("a-model"),
        "cannot judge",
        "no response",
    )
    # The dialog of a question focuses the note.
    optional = screen.get_by_text("(optional)")
    press(screen, "x")
    expect(optional).to_be_visible()
    screen.keyboard.press("Escape")
    press(screen, "f")
    expect(optional).to_be_hidden()
    screen.keyboard.type("Is 1/2 the same as 0.5 here?")
    press(screen, "Control+Enter")
    heading(screen, "c-model")
    asked = Escalation.objects.latest("pk")
    assert (asked.kind, asked.note) == ("question", "Is 1/2 the same as 0.5 here?")
    press(screen, "x", "Enter")
    expect(screen.get_by_role("dialog")).to_contain_text("Choose a reason, or write one.")
    press(screen, "2", "Enter")
    heading(screen, "d-model")
    assert Escalation.objects.latest("pk").reason == "no reference"
    press(screen, "g", "h")
    screen.get_by_role("button", name="Withdraw").last.click()
    heading(screen, "a-model")
    assert record("a-model").claimed_by == raised.raised_by
