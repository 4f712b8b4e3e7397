"""Records and conflicts on small screens: room to read, targets of 44 px, a way from evidence to score."""

from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, Run, User
from tests.browser.conftest import checked, start_session
from tests.browser.screen import draft_is, heading, label, settle
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

# The visible controls of less than 44 px. A label and a row of a table act for their control.
_SMALL = """() => {
    const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")];
    const isShown = (it) => it.checkVisibility() && !it.closest("[type=hidden], .skip-links");
    const size = (it) => {
        const box = (it.closest("label, tr:has([data-peek])") || it).getBoundingClientRect();
        return [Math.round(box.width), Math.round(box.height)];
    };
    const small = controls.filter((it) => isShown(it) && Math.min(...size(it)) < 44);
    return small.map((it) => `${size(it)}: ${it.outerHTML.slice(0, 120)}`);
}"""
# The share of the window that sticky and fixed elements leave to the evidence.
_SHARE = """() => {
    const rows = Array.from({ length: innerHeight }, (_, y) => y);
    const isRead = (y) => document.elementFromPoint(innerWidth / 2, y)?.closest("#evidence > *");
    return rows.filter(isRead).length / innerHeight;
}"""


@pytest.fixture
def phone(browser: Browser, live_server: LiveServer, ana: User, algebra: Run) -> Iterator[Page]:
    """Ana at her first record on a phone."""
    response = {"response": {"final_answer": "54"}}
    Evaluation.objects.update(structured_model_response=response, structured_ideal_response=response)
    context = browser.new_context(viewport={"width": 320, "height": 640}, has_touch=True)
    page = context.new_page()
    with checked(page):
        client = start_session(page, live_server.url, ana)
        page.goto(live_server.url + client.post(reverse("claim-next", args=[algebra.pk]))["Location"])
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        settle(page)
        yield page
    context.close()


def test_review_on_a_phone_has_large_targets_room_to_read_and_a_way_between_evidence_and_scores(
    phone: Page,
) -> None:
    scores, evidence = phone.locator("#scores"), phone.locator("#evidence")
    top, height = phone.locator(".record-head"), "it => it.offsetHeight"
    before = top.evaluate(height)
    assert phone.locator("#progress").evaluate("it => it.getBoundingClientRect().x") < 20
    assert phone.evaluate(_SMALL) == []
    tops = phone.locator("label.tab").evaluate_all("tabs => tabs.map((tab) => tab.offsetTop)")
    assert (len(tops), len(set(tops))) == (4, 1)
    assert phone.locator("kbd:visible").count() == 0
    phone.get_by_role("button", name="More", exact=True).click()
    assert phone.evaluate(_SMALL) == []
    phone.get_by_role("link", name="Can't judge").click()
    assert phone.evaluate(_SMALL) == []
    phone.keyboard.press("Escape")
    expect(phone.get_by_role("dialog")).to_have_count(0)
    for size in ((640, 400), (320, 640)):
        phone.set_viewport_size({"width": size[0], "height": size[1]})
        evidence.evaluate("it => it.scrollIntoView()")
        assert phone.evaluate(_SHARE) > 0.5, size
    phone.get_by_role("link", name="Scores", exact=True).click()
    expect(scores.get_by_role("heading", level=2)).to_be_in_viewport()
    phone.get_by_role("link", name="Evidence", exact=True).click()
    expect(evidence.get_by_role("radio", name="Compare")).to_be_in_viewport()
    phone.get_by_role("group", name="depth").get_by_role("radio", name="Yes").tap()
    expect(phone.locator("label.cause:visible").first).to_be_visible()
    assert phone.locator("kbd:visible").count() == 0
    # A cause is not required: the button below the causes can be used, and covers none of them.
    phone.locator("#submit").tap(trial=True)
    phone.locator("label.cause:visible").last.tap(trial=True)
    phone.locator("label.cause:visible").first.tap()
    draft_is(phone, "saved")
    assert top.evaluate(height) == before
    phone.set_viewport_size({"width": 500, "height": 640})
    label(phone, "Submit 1 change")
    assert phone.locator("#submit").evaluate(height) == 44
    phone.set_viewport_size({"width": 320, "height": 640})
    for model in ("b-model", "c-model"):
        settle(phone)
        phone.locator("#submit").click()
        heading(phone, model)
        phone.wait_for_function("() => scrollY === 0")
    # The toasts leave the record free: the last one is over the site header.
    expect(phone.locator(".toast")).to_have_count(2)
    toast, head = phone.locator(".toast:visible").bounding_box(), phone.locator("h1").bounding_box()
    assert toast
    assert head
    assert toast["y"] + toast["height"] <= head["y"]


@pytest.mark.parametrize("width", [320, pytest.param(390, marks=pytest.mark.exhaustive)])
def test_conflicts_and_reasons_of_rejections_need_no_scrolling_on_a_phone(
    browser: Browser, live_server: LiveServer, lea: User, width: int
) -> None:
    theirs = {"human_review_status": "Reviewed", "human_reviewer_id": "carla", "human_corrected_scores": {}}
    import_data(file_of(line("eval_0")), run="Algebra")
    decide(Evaluation.objects.get(), lea)
    source = import_data(file_of(line("eval_0", **theirs), line(..., created_at=...), b"no"), run="Algebra")
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    start_session(page, live_server.url, lea)
    for address, columns in (
        (reverse("conflicts", args=[source.target_run.pk]), ".sides tbody td"),
        (reverse("import", args=[source.pk]), ".exceptions tbody td"),
    ):
        page.goto(live_server.url + address)
        assert page.locator(columns).count() > 4
        assert (
            page.locator(".scroll:has(table)").evaluate_all(
                "boxes => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
            )
            == 0
        )
        widths = page.locator(columns).evaluate_all("cells => cells.map((cell) => cell.clientWidth)")
        assert min(widths) >= 40
    context.close()


def test_tabs_of_the_evidence_fit_one_line_in_a_narrow_window(screen: Page) -> None:
    response = {"response": {"final_answer": "54"}}
    Evaluation.objects.update(structured_model_response=response, structured_ideal_response=response)
    screen.reload()
    for width in (320, 390, 500):
        screen.set_viewport_size({"width": width, "height": 844})
        tops = screen.locator("label.tab").evaluate_all("tabs => tabs.map((tab) => tab.offsetTop)")
        assert (len(tops), len(set(tops))) == (4, 1), width
