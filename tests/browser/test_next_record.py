"""Prefetching: the next record is shown at once on submit, in its place, and replaced if another has it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from tests.browser.screen import (
    SCORES,
    heading,
    hold_submits,
    is_at,
    press,
    record,
    saved,
    settle,
    wait_for_prefetch,
    words_of,
)
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db(transaction=True)

# Milliseconds from the key press to the first frame with the next record.
_WATCH = """() => {
    window.painted = new Promise((resolve) => {
        let pressed = 0;
        document.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
        const watch = new MutationObserver((changes) => {
            const added = changes.flatMap((change) => [...change.addedNodes]);
            if (!added.some((node) => node.id === "screen")) return;
            watch.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - pressed)));
        });
        watch.observe(document.querySelector("main"), { childList: true });
    });
}"""
# Starts to note the parts of the evidence that move.
_WATCH_SHIFTS = """() => {
    window.moved = [];
    new PerformanceObserver((list) => {
        const nodes = list.getEntries().flatMap((entry) => entry.sources.map((source) => source.node));
        const inEvidence = nodes.filter((node) => node?.parentElement?.closest("#evidence"));
        moved.push(...inEvidence.map((node) => node.textContent.trim()));
    }).observe({ type: "layout-shift" });
}"""
_TWO_FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


def test_next_record_is_painted_before_the_submit_completes(
    screen: Page, record_property: Callable[[str, object], None]
) -> None:
    wait_for_prefetch(screen, "b-model")
    settle(screen)
    held = hold_submits(screen)
    screen.evaluate(_WATCH)
    screen.keyboard.press("a")
    heading(screen, "b-model")
    assert not Review.objects.exists()
    painted = screen.evaluate("window.painted")
    record_property("submit to next record painted, ms", round(painted, 1))
    assert painted < 2000  # about 30 on an idle machine
    expect(screen.get_by_role("heading", level=1)).to_be_focused()
    held[0].continue_()
    saved(screen, "a-model")
    is_at(screen, "b-model")
    expect(screen.locator("#progress")).to_contain_text("2 left · 1 done today")
    # The end of the queue leaves no claim.
    screen.unroute("**/submit/")
    wait_for_prefetch(screen, "c-model")
    press(screen, "a")
    heading(screen, "c-model")
    saved(screen, "b-model")
    press(screen, "a")
    expect(screen.get_by_role("heading", name="All caught up")).to_be_focused()
    assert Review.objects.count() == 3
    assert not Evaluation.objects.filter(claimed_by__isnull=False).exists()


def test_evidence_of_the_next_record_appears_at_its_place(screen: Page) -> None:
    response = {"assumptions": "None.", "steps": ["Add $a$.", "Halve."], "final_answer": r"\frac{1}{2}"}
    Evaluation.objects.update(structured_model_response=response, structured_ideal_response=response)
    screen.reload()
    wait_for_prefetch(screen, "b-model")
    screen.evaluate(_WATCH_SHIFTS)
    press(screen, "a")
    heading(screen, "b-model")
    saved(screen, "a-model")
    expect(screen.locator("#evidence .katex").first).to_be_visible()
    screen.evaluate(_TWO_FRAMES)
    assert screen.evaluate("window.moved") == []


@pytest.mark.exhaustive
def test_record_that_was_decided_while_it_was_prefetched_is_not_shown_again(screen: Page) -> None:
    run = record("a-model").run
    EvaluationFactory.create(run=run, task_id="7", model_id="d-model", parsed_rubric_scores=SCORES)
    wait_for_prefetch(screen, "b-model", "c-model")
    late: list[tuple[Route, APIResponse]] = []

    def delay_the_first(route: Route) -> None:
        route.fallback() if late else late.append((route, route.fetch()))

    screen.route("**/prefetch/", delay_the_first)
    screen.reload()
    settle(screen)
    while not late:
        screen.wait_for_timeout(50)
    for model, after in (("a-model", "b-model"), ("b-model", "c-model")):
        press(screen, "a")  # without a prefetched record: the response brings the next one
        heading(screen, after)
        saved(screen, model)
    route, response = late[0]
    route.fulfill(response=response)
    wait_for_prefetch(screen, "d-model")
    press(screen, "a")
    heading(screen, "d-model")
    saved(screen, "c-model")


@pytest.mark.exhaustive
def test_record_on_the_screen_comes_next_after_an_undo(screen: Page) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    press(screen, "a")
    saved(screen, "a-model")
    press(screen, "Shift+P", "u")
    heading(screen, "a-model")
    press(screen, "a")
    heading(screen, "b-model")
    press(screen, "a")
    heading(screen, "c-model")
    assert words_of(saved(screen, "b-model")) == ["Partial"] * 4


@pytest.mark.exhaustive
def test_prefetched_record_claimed_by_another_is_replaced(screen: Page, ana: User, bo: User) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    spare = record("b-model")
    claims.release(evaluation_id=spare.pk, actor=ana)
    claims.claim(evaluation_id=spare.pk, reviewer=bo)
    press(screen, "a")
    saved(screen, "a-model")
    heading(screen, "c-model")
    is_at(screen, "c-model")
