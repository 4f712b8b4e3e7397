"""The panes of the evidence, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, SpotCheck, User
from tests.browser.conftest import start_session
from tests.browser.screen import press
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

MORE = ["Go on."] * 20


@pytest.fixture
def record(db: None) -> Evaluation:
    bring(task())
    return EvaluationFactory.create(
        task_id="7",
        structured_model_response={"final_answer": r"$\frac{1}{2}$", "steps": ["Add $a$.", *MORE]},
        structured_ideal_response={"final_answer": "$2$", "steps": ["Divide $a$.", *MORE]},
    )


@pytest.fixture
def screen(page: Page, live_server: LiveServer, ana: User, record: Evaluation) -> Page:
    start_session(page, live_server.url, ana)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    return page


def pane(page: Page, name: str) -> None:
    """Expect only this pane to be visible."""
    expect(page.locator(".pane:visible")).to_have_count(1)
    expect(page.get_by_role("region", name=name)).to_be_visible()


def test_panes_open_one_at_a_time_by_click_and_key_and_differences_and_layout_change_on_request(
    screen: Page,
) -> None:
    model = screen.get_by_role("region", name="Model response", include_hidden=True)
    pane(screen, "Compare")
    expect(screen.locator(".comparison .always .katex").first).to_be_visible()
    assert model.locator(".katex").count() == 0
    for name, region in (
        ("Model", "Model response"),
        ("Reference", "Reference answer"),
        ("Raw", "Raw judge output"),
    ):
        screen.get_by_role("radio", name=name).check()
        pane(screen, region)
    for key, name in (
        (",", "Model response"),
        (".", "Reference answer"),
        ("r", "Raw judge output"),
        ("w", "Compare"),
    ):
        press(screen, key)
        pane(screen, name)
    # The same key again leads back.
    press(screen, "r")
    press(screen, "r")
    pane(screen, "Compare")
    # Formulas of a pane are typeset once it opens.
    expect(model.locator(".katex").first).to_be_attached()
    differences_and_layout_change_on_request(screen)


@pytest.mark.exhaustive
def test_question_stays_at_the_top_and_is_opened_by_key(
    screen: Page, live_server: LiveServer, record: Evaluation
) -> None:
    question, bar = screen.get_by_role("region", name="Question"), screen.locator("#question-bar")
    beginning = bar.locator(".question-line")
    whole = screen.get_by_label("of the question")

    def scroll(top: int) -> None:
        screen.locator("#evidence").evaluate("(evidence, top) => { evidence.scrollTop = top; }", top)

    expect(question.locator(".katex").first).to_be_visible()
    expect(beginning).to_be_hidden()
    scroll(10_000)
    expect(beginning).to_be_visible()
    expect(question).not_to_be_in_viewport()
    press(screen, "q")
    expect(whole).to_be_checked()
    expect(question).to_be_in_viewport()
    expect(beginning).to_be_hidden()
    # It stays open for the records of the task, and only for them.
    other = EvaluationFactory.create(run=record.run, task_id="7")
    for pk, is_open in (
        (other.pk, True),
        (EvaluationFactory.create(task_id="8").pk, False),
        (other.pk, True),
    ):
        screen.goto(f"{live_server.url}/evaluations/{pk}/")
        expect(screen.locator("#question-open:checked")).to_have_count(int(is_open))
    press(screen, "q")
    expect(whole).not_to_be_checked()


# Observers on a busy page get several entries at once. Here the first one says that the text was out of view.
_LATE = """window.IntersectionObserver = class extends IntersectionObserver {
    constructor(act, options) {
        super((entries) => { act([{ intersectionRatio: 0 }, ...entries]); window.hasActed = true; }, options);
    }
}"""


@pytest.mark.exhaustive
def test_beginning_of_a_question_that_is_back_is_hidden(screen: Page) -> None:
    with screen.add_init_script(_LATE):
        screen.reload()
        screen.wait_for_function("window.hasActed")
        expect(screen.locator(".question-line")).to_be_hidden()


def differences_and_layout_change_on_request(screen: Page) -> None:
    steps = screen.get_by_role("region", name="Steps")
    marks = screen.get_by_label("Highlight differences")
    expect(screen.get_by_role("region", name="Final answer").locator("del")).to_be_visible()
    expect(steps.locator("del")).to_be_hidden()
    marks.check()
    expect(steps.locator("del")).to_have_text("Add")
    expect(steps.locator("ins")).to_have_text("Divide")
    assert steps.locator(".katex ins, .katex del").count() == 0
    press(screen, "d")
    expect(marks).not_to_be_checked()
    press(screen, "d")
    expect(marks).to_be_checked()
    width = "document.querySelector('#scores').offsetWidth"
    narrow = screen.evaluate(width)
    press(screen, "v")
    assert screen.evaluate(width) > narrow
    screen.reload()
    assert screen.evaluate(width) > narrow


@pytest.mark.exhaustive
def test_panes_and_differences_work_without_scripts(
    browser: Browser, live_server: LiveServer, page: Page, ana: User, record: Evaluation
) -> None:
    start_session(page, live_server.url, ana)
    context = browser.new_context(
        java_script_enabled=False,
        storage_state=page.context.storage_state(),
        viewport={"width": 1280, "height": 800},
    )
    plain = context.new_page()
    plain.goto(f"{live_server.url}/evaluations/{record.pk}/")
    pane(plain, "Compare")
    plain.get_by_label("Highlight differences").check()
    expect(plain.get_by_role("region", name="Steps").locator("del")).to_be_visible()
    plain.get_by_role("radio", name="Raw").check()
    pane(plain, "Raw judge output")
    context.close()


@pytest.mark.exhaustive
def test_other_records_are_peeked_at_by_keyboard(screen: Page, record: Evaluation) -> None:
    for model in ("other-1", "other-2"):
        answer = {"final_answer": rf"$\frac{{1}}{{3}}$ by {model}", "steps": MORE}
        EvaluationFactory.create(
            run=record.run, task_id="7", model_id=model, structured_model_response=answer
        )
    screen.reload()
    others, dialog = screen.locator("#siblings"), screen.get_by_role("dialog")
    expect(others.get_by_role("row")).to_have_count(4)
    expect(others.locator(".katex").first).to_be_in_viewport()
    press(screen, "o")
    expect(others.get_by_role("link", name="other-1")).to_be_focused()
    press(screen, "Enter")
    expect(dialog.get_by_role("heading", name="other-1 · 1 of 2")).to_be_focused()
    expect(dialog.locator(".katex").first).to_be_visible()
    press(screen, "j")
    expect(dialog.get_by_text("by other-2")).to_be_visible()
    expect(dialog.get_by_role("region", name="Scores")).to_be_visible()
    press(screen, "Escape")
    expect(dialog).to_be_hidden()
    expect(others.get_by_role("link", name="other-2")).to_be_focused()
    press(screen, "k")
    expect(others.get_by_role("link", name="other-1")).to_be_focused()
    # By mouse, and without a connection.
    screen.context.set_offline(True)
    others.get_by_role("cell", name="other-2").click()
    expect(dialog).to_contain_text("could not be loaded")
    dialog.get_by_role("button", name="Close").click()
    screen.context.set_offline(False)
    # It stays folded, because there are responses to read.
    press(screen, "o")
    expect(others.get_by_role("table")).to_be_hidden()
    screen.reload()
    expect(others.get_by_role("table")).to_be_hidden()
    press(screen, "o")
    expect(others.get_by_role("table")).to_be_visible()
    assert not Evaluation.objects.exclude(claimed_by=None).exists()


def test_chip_opens_its_sentence_and_escape_closes_it(screen: Page, record: Evaluation) -> None:
    Evaluation.objects.update(review_reasons=["A long reason. " * 10, "Another long reason. " * 10])
    screen.reload()
    chip = screen.locator(".signals summary")
    sentences = screen.locator(".signals .said")
    question = screen.get_by_role("region", name="Question")
    before = question.bounding_box()
    chip.first.focus()
    press(screen, "Enter")
    expect(sentences.first).to_be_visible()
    assert question.bounding_box() == before
    chip.last.click()
    expect(sentences.first).to_be_hidden()
    expect(sentences.last).to_be_visible()
    press(screen, "Escape")
    expect(sentences.last).to_be_hidden()
    expect(chip.last).to_be_focused()
    chip.last.click()
    screen.get_by_role("heading", level=1).click()
    expect(sentences.last).to_be_hidden()


@pytest.mark.exhaustive
def test_printed_record_is_not_cut_off(screen: Page) -> None:
    screen.emulate_media(media="print")
    screen.set_viewport_size({"width": 1123, "height": 794})  # A4, landscape
    assert screen.evaluate("getComputedStyle(document.body).overflow") == "visible"
    expect(screen.get_by_role("group", name="Decide")).to_be_hidden()
    expect(screen.get_by_role("region", name="Scores")).to_be_visible()
    expect(screen.locator("#question-bar .question-line")).to_be_hidden()


@pytest.mark.exhaustive
def test_evidence_of_a_spot_check_has_the_same_keys(
    page: Page, live_server: LiveServer, lea: User, bo: User, record: Evaluation
) -> None:
    drawn = SpotCheck.objects.create(review=decide(record, bo), run=record.run, reviewer=bo, drawn_by=lea)
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/spot-checks/{drawn.pk}/")
    pane(page, "Compare")
    press(page, ".")
    pane(page, "Reference answer")
    press(page, "q")
    expect(page.locator("#question-open")).to_be_checked()
