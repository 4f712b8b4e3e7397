"""Keyboard shortcuts of the review screen: the number of keys per decision, and where keys are commands."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Draft, Escalation, Review, Run, Skip, User
from reviews.queue import claims
from reviews.records.rubric import VerdictRule
from tests.browser.conftest import start_session
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


# Keys while typing


@pytest.mark.exhaustive
def test_letters_start_no_text_and_in_text_fields_no_command(screen: Page) -> None:
    press(screen, "1", "p")
    screen.keyboard.type("low tilt b q z")
    expect(screen.locator("textarea:focus")).to_have_count(0)
    press(screen, "a")
    heading(screen, "b-model")
    assert scores_of(saved(screen, "a-model"))["depth"] == {
        "score": "Partial",
        "justification": SCORES["depth"]["justification"],
        "justification_by": "judge",
    }
    press(screen, "c")
    screen.keyboard.type("skip, please")
    heading(screen, "b-model")
    screen.keyboard.press("Escape")
    screen.get_by_text("Your reason").first.click()
    screen.keyboard.type("as above")
    heading(screen, "b-model")
    screen.keyboard.press("Escape")
    press(screen, "s")
    heading(screen, "c-model")
    fields = Draft.objects.get().fields
    assert ["criteria-0-justification", "as above"] in fields
    assert fields[-1] == ["comments", "skip, please"]


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


# Views

# The widths of a text at which the full stop after its formula is in another line than the formula.
_WIDTHS_WITH_STRAY_STOP = """(text) => {
    const formula = text.querySelector(".katex-html");
    const stop = text.querySelector(".math").nextSibling;
    const widths = Array.from({ length: 60 }, (_, i) => 40 + 3 * i);
    return widths.filter((width) => {
        text.style.width = `${width}px`;
        const place = new Range();
        place.selectNode(stop);
        return place.getBoundingClientRect().left < formula.getBoundingClientRect().right - 1;
    });
}"""


@pytest.mark.exhaustive
def test_keys_toggle_formula_source_and_shortcuts_and_open_other_records_and_pages(
    screen: Page, live_server: LiveServer
) -> None:
    first = screen.get_by_role("group", name="depth")
    expect(first.locator(".katex math")).to_have_count(1)
    press(screen, "m")
    expect(first.locator(".katex")).to_have_count(0)
    expect(first).to_contain_text(r"\frac{1}{2}")
    press(screen, "m")
    expect(first.locator(".katex math")).to_have_count(1)
    assert first.locator(".prose").first.evaluate(_WIDTHS_WITH_STRAY_STOP) == []
    press(screen, "?")
    expect(screen.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    press(screen, "s", "Escape")
    expect(screen.get_by_role("dialog")).to_have_count(0)
    heading(screen, "a-model")
    press(screen, "Shift+J")
    heading(screen, "b-model")
    expect(screen.locator("#review-form")).to_have_count(0)
    press(screen, "Shift+K")
    heading(screen, "a-model")
    assert not Review.objects.exists()
    press(screen, "g", "q")
    expect(screen.get_by_role("heading", name="Algebra")).to_be_visible()
    press(screen, "g", "h")
    expect(screen.get_by_role("heading", name="My reviews")).to_be_visible()
    press(screen, "g", "r")
    expect(screen).to_have_url(f"{live_server.url}/")


def test_key_to_submit_claims_a_viewed_record(screen: Page) -> None:
    press(screen, "Shift+J")
    heading(screen, "b-model")
    review = screen.get_by_role("button", name="Review this")
    expect(review).to_have_attribute("aria-keyshortcuts", "A")
    press(screen, "a")
    label(screen, "Accept scores as read")
    heading(screen, "b-model")
    assert not Review.objects.exists()


def test_keys_are_no_commands_while_a_menu_is_open(screen: Page) -> None:
    settle(screen)
    screen.locator("[popovertarget=user-menu]").click()
    screen.keyboard.press("y")
    screen.keyboard.press("Escape")
    expect(screen.locator("#user-menu")).to_be_hidden()
    expect(screen.locator("#criteria .changed")).to_have_count(0)
    screen.keyboard.press("y")
    expect(screen.locator("#criteria .changed")).to_have_count(1)


def test_keys_are_shown_in_the_font_of_the_text(screen: Page) -> None:
    font = "it => getComputedStyle(it).fontFamily"
    assert screen.locator("#submit kbd").evaluate(font) == screen.locator("body").evaluate(font)


# Preferences


@pytest.mark.exhaustive
def test_shortcut_can_be_reassigned(screen: Page, live_server: LiveServer) -> None:
    screen.goto(f"{live_server.url}/preferences/")
    screen.get_by_label("Skip (moves to the end of your queue)").fill("l")
    screen.get_by_role("button", name="Save").click()
    screen.goto(f"{live_server.url}/evaluations/{record('a-model').pk}/")
    expect(screen.get_by_role("button", name="Skip")).to_contain_text("L")
    press(screen, "s")
    heading(screen, "a-model")
    press(screen, "l")
    heading(screen, "b-model")
    assert Skip.objects.count() == 1


@pytest.mark.exhaustive
def test_shortcuts_can_be_disabled(screen: Page, live_server: LiveServer) -> None:
    address = screen.url
    screen.goto(f"{live_server.url}/preferences/")
    screen.get_by_role("checkbox", name="Single-key shortcuts").uncheck()
    screen.get_by_role("button", name="Save").click()
    expect(screen.get_by_role("status")).to_contain_text("Preferences saved.")
    screen.goto(address)
    press(screen, "2", "n", "3", "Shift+N", "s", "x", "?", "a")
    heading(screen, "a-model")
    label(screen, "Accept scores as read")
    expect(screen.get_by_role("dialog")).to_have_count(0)
    expect(screen.locator("#screen kbd:visible")).to_have_count(0)
    first = screen.get_by_role("group", name="depth")
    first.get_by_role("radio", name="No judge").focus()
    press(screen, "ArrowLeft")
    expect(first.get_by_role("radio", name="Partial")).to_be_checked()
    press(screen, "3", "t", "Control+Enter")
    review = saved(screen, "a-model")
    assert words_of(review)[0] == "Partial"
    assert review.causes == {}


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


def test_keys_are_no_part_of_the_names_of_controls(screen: Page) -> None:
    skip = screen.get_by_role("button", name="Skip", exact=True)
    expect(skip).to_have_text("Skip S")
    expect(skip).to_have_attribute("aria-keyshortcuts", "S")
    expect(screen.get_by_role("textbox", name="Comment", exact=True)).to_have_attribute(
        "aria-keyshortcuts", "C"
    )
