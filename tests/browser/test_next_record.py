"""Prefetching: the next record is shown at once on submit, and released if it is not needed."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from tests.browser.screen import (
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


def test_prefetched_record_is_claimed_briefly(screen: Page, ana: User) -> None:
    wait_for_prefetch(screen, "b-model")
    spare, shown = record("b-model"), record("a-model")
    assert spare.claimed_by == ana
    assert spare.claimed_until is not None
    assert shown.claimed_until is not None
    assert spare.claimed_until < shown.claimed_until


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
    record_property("submit to next record painted, ms", round(screen.evaluate("window.painted"), 1))
    expect(screen.get_by_role("heading", level=1)).to_be_focused()
    held[0].continue_()
    saved(screen, "a-model")
    is_at(screen, "b-model")
    expect(screen.locator("#progress")).to_contain_text("2 of 3 left")


def test_whole_queue_leaves_no_record_claimed(screen: Page) -> None:
    for model, after in (("a-model", "b-model"), ("b-model", "c-model")):
        wait_for_prefetch(screen, after)
        press(screen, "a")
        heading(screen, after)
        saved(screen, model)
    press(screen, "a")
    expect(screen.get_by_role("heading", name="All caught up")).to_be_focused()
    assert Review.objects.count() == 3
    assert not Evaluation.objects.filter(claimed_by__isnull=False).exists()


@pytest.mark.parametrize("failure", ["network", "server"])
def test_failed_submit_shows_the_old_record_again(screen: Page, failure: str) -> None:
    wait_for_prefetch(screen, "b-model")

    def fail(route: Route) -> None:
        route.abort() if failure == "network" else route.fulfill(status=500)

    screen.route("**/submit/", fail)
    press(screen, "2", "n", "3", "a")
    expect(screen.get_by_role("alert")).to_contain_text("Couldn't submit")
    heading(screen, "a-model")
    rigour = screen.get_by_role("group", name="rigour")
    expect(rigour.get_by_role("radio", name="No", exact=True)).to_be_checked()
    assert not Review.objects.exists()
    screen.unroute("**/submit/")
    press(screen, "a")
    heading(screen, "b-model")
    assert words_of(saved(screen, "a-model")) == ["No", "No", "Yes", "Yes"]


def test_refused_submit_shows_the_old_record_again(screen: Page, ana: User, bo: User) -> None:
    wait_for_prefetch(screen, "b-model")
    first = record("a-model")
    claims.release(evaluation_id=first.pk, actor=ana)
    claims.claim(evaluation_id=first.pk, reviewer=bo)
    press(screen, "y", "a")
    expect(screen.get_by_role("alert")).to_contain_text("bo has been reviewing this since")
    heading(screen, "a-model")
    depth = screen.get_by_role("group", name="depth")
    expect(depth.get_by_role("radio", name="Yes")).to_be_checked()


def test_prefetched_record_claimed_by_another_is_replaced(screen: Page, ana: User, bo: User) -> None:
    wait_for_prefetch(screen, "b-model")
    spare = record("b-model")
    claims.release(evaluation_id=spare.pk, actor=ana)
    claims.claim(evaluation_id=spare.pk, reviewer=bo)
    press(screen, "a")
    saved(screen, "a-model")
    heading(screen, "c-model")
    is_at(screen, "c-model")


def test_leaving_the_page_releases_the_prefetched_record(screen: Page) -> None:
    wait_for_prefetch(screen, "b-model")
    screen.get_by_role("link", name="Runs").click()
    screen.get_by_role("heading", name="Runs").wait_for()
    screen.wait_for_timeout(200)
    assert record("b-model").claimed_by is None
    assert record("a-model").claimed_by is not None
