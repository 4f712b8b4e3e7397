"""Nothing on the form moves or is covered while people score, override and pick causes."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Run, User
from reviews.records.rubric import Criterion, Rubric
from tests.browser.conftest import open_runs
from tests.browser.screen import draft_is, label, press, settle
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

# The boxes of the number of records left, all rows and score buttons, the comment and the buttons below it,
# in whole pixels.
_BOXES = """() => [...document.querySelectorAll(
    "#progress, #criteria > .criterion, #criteria .level, #comments, #skip, #submit, .others .button"
)].map((one) => {
    const box = one.getBoundingClientRect();
    return [one.id || one.textContent.trim(), ...[box.left, box.top, box.width, box.height].map(Math.round)];
})"""


def boxes(page: Page) -> list[Any]:
    found: list[Any] = page.evaluate(_BOXES)
    return found


def is_uncovered(page: Page, selector: str) -> bool:
    """Whether a click on the lower edge of an element would hit the element."""
    hit: bool = page.locator(selector).evaluate(
        """(one) => {
            const box = one.getBoundingClientRect();
            return one.contains(document.elementFromPoint(box.left + box.width / 2, box.bottom - 3));
        }"""
    )
    return hit


@pytest.mark.usefixtures("algebra")
def test_choosing_overriding_and_opening_causes_moves_nothing(screen: Page) -> None:
    screen.set_viewport_size({"width": 1280, "height": 800})
    settle(screen)
    expect(screen.locator(".criterion .katex").first).to_be_visible()
    before = boxes(screen)
    widths = {box[3] for box in before if box[0] in {"Yes", "Yes judge", "Partial", "No", "No judge"}}
    assert len(widths) == 1
    lefts = {box[1] for box in before if box[0].startswith("Partial")}
    assert len(lefts) == 1
    expect(screen.locator("#submit")).to_be_in_viewport(ratio=1)
    expect(screen.locator("#verdict")).to_be_in_viewport(ratio=1)
    first = screen.get_by_role("group", name="depth")
    press(screen, "1", "y")
    expect(first.get_by_text("Too strict")).to_be_visible()
    expect(first.get_by_text("Too lenient")).to_be_hidden()
    expect(first.locator("label.cause:visible")).to_have_count(6)
    assert boxes(screen) == before
    press(screen, "2")
    expect(first).to_contain_text("No → Yes Misread the answer")
    assert boxes(screen) == before
    last = screen.get_by_role("group", name="elegance")
    last.get_by_role("radio", name="Partial").click()
    expect(last.get_by_text("Too lenient")).to_be_visible()
    assert boxes(screen) == before
    assert is_uncovered(screen, "#comments")
    screen.keyboard.press("Escape")
    press(screen, "Shift+N")
    label(screen, "Submit 3 changes")
    assert boxes(screen) == before
    draft_is(screen, "saved")


def test_long_names_make_no_second_line_above_the_form(screen: Page) -> None:
    Run.objects.update(name="Algebra nightly, judge prompt 3, November")
    Evaluation.objects.update(model_id="claude-3-5-sonnet-latest")
    screen.set_viewport_size({"width": 1280, "height": 800})
    screen.reload()
    before = boxes(screen)[1:]
    press(screen, "y", "Escape")
    draft_is(screen, "saved")
    assert boxes(screen)[1:] == before
    heights = [
        screen.locator(one).evaluate("it => it.offsetHeight") for one in (".site-header", ".record-head")
    ]
    assert heights[0] == heights[1]
    title = screen.get_by_role("heading", level=1)
    assert title.evaluate("it => it.scrollWidth === it.clientWidth")
    expect(title).to_have_attribute("title", "Task 7 · claude-3-5-sonnet-latest")


def test_first_line_of_the_judge_is_readable_while_causes_are_open(screen: Page) -> None:
    screen.set_viewport_size({"width": 1280, "height": 800})
    press(screen, "3", "n")
    row = screen.get_by_role("group", name="clarity")
    words, causes = row.locator(".justification p").bounding_box(), row.locator(".causes").bounding_box()
    assert words
    assert causes
    assert words["y"] + words["height"] - causes["y"] < 3  # below the letters


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((1280, 800), marks=pytest.mark.exhaustive),
        pytest.param((1024, 600), marks=pytest.mark.exhaustive),
        (390, 700),
    ],
)
def test_comment_is_never_covered(screen: Page, size: tuple[int, int]) -> None:
    settle(screen)
    screen.set_viewport_size({"width": size[0], "height": size[1]})
    for key in ("4", "n", "Escape", "c"):
        screen.keyboard.press(key)
    assert screen.locator(".decide kbd:visible").count() == (0 if size[0] < 576 else 2)
    for line in range(12):
        screen.keyboard.insert_text(f"Line {line}.\n")
        assert is_uncovered(screen, "#comments")
    draft_is(screen, "saved")


@pytest.mark.exhaustive
def test_more_causes_follow_the_first_six_and_without_evidence_no_button_is_primary(screen: Page) -> None:
    label(screen, "Accept scores as read")
    expect(screen.locator("#submit")).to_have_class("button")
    first = screen.get_by_role("group", name="depth")
    press(screen, "1", "y", "0")
    expect(first.get_by_text("Verifier error")).to_be_visible()
    expect(first.get_by_text("Too strict")).to_be_hidden()
    press(screen, "1")
    expect(first).to_contain_text("No → Yes Verifier error")
    press(screen, "1", "p")  # the same direction keeps the cause
    expect(first).to_contain_text("No → Partial Verifier error")
    draft_is(screen, "saved")


@pytest.mark.exhaustive
def test_guideline_and_descriptions_are_one_key_away(page: Page, live_server: LiveServer, ana: User) -> None:
    described = Criterion("depth", description="How far it goes. " * 10)
    run = RunFactory.create(rubric=Rubric(criteria=(described,)).as_json())
    for number in range(2):
        EvaluationFactory.create(
            run=run,
            task_id=str(number),
            parsed_rubric_scores={"depth": {"score": "No", "justification": "."}},
            structured_model_response={"response": {"final_answer": "54"}},
        )
    open_runs(page, live_server.url, ana)
    page.get_by_role("button", name="Start reviewing").first.click()
    expect(page.locator("#submit")).to_have_class("button primary")
    panel = page.get_by_role("region", name="Guideline")
    press(page, "1")
    before = boxes(page)
    press(page, "h")
    expect(panel).to_contain_text("How far it goes.")
    assert boxes(page) == before
    press(page, "a")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Task 1")
    expect(panel).to_be_visible()
    press(page, "h")
    expect(panel).to_be_hidden()
