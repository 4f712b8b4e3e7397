"""The review screen by keyboard and by mouse, as a person meets it in a real browser."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews import queue
from reviews.models import Evaluation, Review, Run, Skip, User
from tests.browser.conftest import log_in
from tests.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

SCORES = {
    "depth": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."},
    "clarity": {"score": "Yes", "justification": "Each step follows."},
    "elegance": {"score": "Yes", "justification": r"But $\undefined{x}$ is no formula."},
}


@pytest.fixture
def run(db: None) -> Run:
    run = RunFactory.create(name="Algebra")
    for model in ("a-model", "b-model", "c-model"):
        EvaluationFactory.create(run=run, task_id="7", model_id=model, parsed_rubric_scores=SCORES)
    return run


@pytest.fixture
def screen(page: Page, live_server: LiveServer, ana: User, run: Run) -> Page:
    """Ana at her first record."""
    log_in(page, live_server.url, ana)
    page.get_by_role("button", name="Start reviewing").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    return page


def heading(page: Page, model: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Task 7 · {model}")


def label(page: Page, words: str) -> None:
    expect(page.locator("#submit")).to_contain_text(words)


def verdict(page: Page, words: str) -> None:
    expect(page.locator("#verdict")).to_have_text(words)


def decide(page: Page, key: str = "a") -> None:
    """Press a key that leaves the record when the screen takes it: not in the moment it appears."""
    page.wait_for_timeout(400)
    page.keyboard.press(key)


def scores_of(review: Review) -> dict[str, Any]:
    assert review.corrected_scores
    return dict(review.corrected_scores)


def test_one_key_agrees_and_the_next_record_is_there(screen: Page) -> None:
    heading(screen, "a-model")
    label(screen, "Agree & next")
    decide(screen)
    heading(screen, "b-model")
    expect(screen.get_by_role("heading", level=1)).to_be_focused()
    expect(screen.get_by_role("status")).to_contain_text("Saved Task 7 · a-model: Fail")
    assert screen.url.endswith(f"/evaluations/{Evaluation.objects.get(model_id='b-model').pk}/")
    assert Review.objects.get().corrected_scores == SCORES


def test_a_text_field_that_was_made_taller_leaves_no_style_behind(screen: Page) -> None:
    screen.evaluate("document.querySelector('#comments').style.height = '9rem'")
    decide(screen)
    heading(screen, "b-model")
    assert screen.get_by_label("Comment").get_attribute("style") is None


def test_a_key_held_down_decides_one_record(screen: Page) -> None:
    screen.wait_for_timeout(400)
    screen.keyboard.down("a")
    for _ in range(5):
        screen.keyboard.down("a")
    heading(screen, "b-model")
    screen.wait_for_timeout(400)
    screen.keyboard.down("a")
    heading(screen, "b-model")
    assert Review.objects.count() == 1


def test_keys_score_and_the_screen_says_what_changes(screen: Page) -> None:
    first = screen.get_by_role("group", name="depth")
    screen.keyboard.press("y")
    expect(first.get_by_role("radio", name="Yes")).to_be_checked()
    expect(first).to_contain_text("No → Yes")
    still = first.get_by_text("The text is still the judge's.")
    expect(still).to_be_visible()
    verdict(screen, "Fail → Pass")
    label(screen, "Submit 1 change")
    screen.keyboard.press("p")
    verdict(screen, "Fail → Partial")
    screen.keyboard.press("Shift+N")
    verdict(screen, "Fail")
    label(screen, "Submit 2 changes")
    screen.keyboard.press("1")
    screen.keyboard.press("e")
    screen.keyboard.type("Only $x^2$")
    expect(first.locator(".katex").first).to_be_visible()
    expect(still).to_be_hidden()
    screen.keyboard.press("Control+Enter")
    heading(screen, "b-model")
    review = Review.objects.get()
    assert scores_of(review)["depth"] == {"score": "No", "justification": "Only $x^2$"}
    assert review.origins == {"depth": "judge", "clarity": "human", "elegance": "human"}


def test_a_click_scores_too(screen: Page) -> None:
    screen.get_by_role("group", name="depth").get_by_role("radio", name="Partial").click()
    label(screen, "Submit 1 change")
    screen.get_by_role("button", name="Submit 1 change").click()
    heading(screen, "b-model")


def test_letters_in_a_text_are_no_commands(screen: Page) -> None:
    screen.keyboard.press("c")
    screen.keyboard.type("yes: assess")
    heading(screen, "a-model")
    expect(screen.get_by_label("Comment")).to_have_value("yes: assess")
    screen.keyboard.press("Escape")
    decide(screen, "s")
    heading(screen, "b-model")
    assert Skip.objects.count() == 1


def test_a_criterion_is_added_and_its_mistake_is_told(screen: Page) -> None:
    screen.get_by_role("button", name="Add criterion").click()
    screen.keyboard.type("clarity")
    screen.keyboard.press("Enter")
    label(screen, "1 score missing")
    screen.keyboard.press("p")
    screen.keyboard.press("Control+Enter")
    name = screen.get_by_label("Name of the criterion")
    expect(name).to_be_focused()
    expect(screen.get_by_role("group", name="Criterion 4")).to_contain_text(
        "Another criterion has this name."
    )
    name.fill("brevity")
    screen.keyboard.press("Control+Enter")
    heading(screen, "b-model")
    assert scores_of(Review.objects.get())["brevity"] == {"score": "Partial", "justification": ""}


def test_what_was_typed_survives_a_reload_and_can_be_discarded(screen: Page) -> None:
    screen.keyboard.press("y")
    screen.get_by_role("button", name="Add criterion").click()
    screen.keyboard.type("brevity")
    screen.keyboard.press("Escape")
    screen.keyboard.press("c")
    screen.keyboard.type("I was here.")
    screen.reload()
    expect(screen.get_by_text("What you typed here before and did not submit is back.")).to_be_visible()
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    expect(screen.get_by_label("Name of the criterion")).to_have_value("brevity")
    verdict(screen, "open")
    screen.get_by_role("button", name="Discard it").click()
    expect(screen.get_by_label("Comment")).to_have_value("")
    label(screen, "Agree & next")


def test_what_was_typed_survives_that_another_was_first(screen: Page, run: Run, bo: User) -> None:
    record = Evaluation.objects.get(model_id="a-model")
    screen.keyboard.press("c")
    screen.keyboard.type("I was here.")
    queue.release(evaluation_id=record.pk, actor=User.objects.get(username="ana"))
    queue.claim(evaluation_id=record.pk, reviewer=bo)
    screen.keyboard.press("Control+Enter")
    expect(screen.get_by_role("alert")).to_contain_text("bo holds this record until")
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    screen.get_by_role("button", name="Next record").click()
    heading(screen, "b-model")


def test_formulas_are_set_and_what_is_none_stays_readable(screen: Page) -> None:
    expect(screen.get_by_role("group", name="depth").locator(".katex math")).to_have_count(1)
    expect(screen.locator(".math-error")).to_have_text(r"\undefined{x}")


def test_the_sheet_of_keys_opens_and_closes(screen: Page) -> None:
    screen.keyboard.press("?")
    expect(screen.get_by_role("dialog", name="Keys")).to_be_visible()
    screen.keyboard.press("s")
    screen.keyboard.press("Escape")
    expect(screen.get_by_role("dialog")).to_have_count(0)
    heading(screen, "a-model")


def test_nothing_reaches_over_the_side(screen: Page) -> None:
    screen.get_by_role("button", name="Add criterion").click()
    for width in (320, 768, 1024, 1280, 1920):
        screen.set_viewport_size({"width": width, "height": 800})
        assert screen.evaluate("document.documentElement.scrollWidth") == width
        expect(screen.locator("#submit")).to_be_in_viewport()
