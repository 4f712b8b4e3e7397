"""Submits that fail or take long: entries return, and what follows waits."""

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Evaluation, Review, User
from tests.browser.screen import (
    heading,
    hold_submits,
    is_at,
    press,
    record,
    saved,
    wait_for_prefetch,
    words_of,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "failure",
    ["network", *(pytest.param(failure, marks=pytest.mark.exhaustive) for failure in ("server", "refused"))],
)
def test_failed_submit_brings_both_records_back_with_their_entries(screen: Page, failure: str) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    held = hold_submits(screen)
    press(screen, "2", "n", "3", "a")
    heading(screen, "b-model")
    press(screen, "Shift+P")
    screen.get_by_label("Comment").fill("Half of it.")
    screen.keyboard.press("Control+Enter")  # waits for the first submit
    expect(screen.get_by_text("Loading record…")).to_be_visible()
    press(screen, "Shift+Y")
    if failure == "refused":
        Evaluation.objects.filter(model_id="a-model").update(version=2)
        held.pop().continue_()
        expect(screen.get_by_role("alert")).to_contain_text("imported")
    else:
        held.pop().abort() if failure == "network" else held.pop().fulfill(status=500)
        expect(screen.get_by_role("alert")).to_contain_text("Couldn't submit")
    heading(screen, "a-model")
    expect(screen.get_by_text("Loading record…")).to_be_hidden()
    rigour = screen.get_by_role("group", name="rigour")
    expect(rigour.get_by_role("radio", name="No", exact=True)).to_be_checked()
    assert held == []
    assert not Review.objects.exists()
    screen.unroute("**/submit/")
    press(screen, "a")
    heading(screen, "b-model")
    assert words_of(saved(screen, "a-model")) == ["No", "No", "Yes", "Yes"]
    expect(screen.get_by_label("Comment")).to_have_value("Half of it.")
    press(screen, "a")
    heading(screen, "c-model")
    review = saved(screen, "b-model")
    assert (words_of(review), review.comments) == (["Partial"] * 4, "Half of it.")


@pytest.mark.exhaustive
def test_second_submit_waits_for_the_first(screen: Page) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    held = hold_submits(screen)
    press(screen, "a")
    heading(screen, "b-model")
    press(screen, "a", "s")
    expect(screen.get_by_text("Loading record…")).to_be_visible()
    heading(screen, "b-model")
    assert len(held) == 1
    held.pop().continue_()
    heading(screen, "c-model")
    expect(screen.get_by_text("Loading record…")).to_be_hidden()
    saved(screen, "a-model")
    held.pop().continue_()
    saved(screen, "b-model")
    is_at(screen, "c-model")


@pytest.mark.exhaustive
def test_leaving_the_page_waits_for_the_submit_and_releases_two_prefetched_records_claimed_briefly(
    screen: Page, ana: User
) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    shown = record("a-model")
    assert shown.claimed_until is not None
    for spare in (record("b-model"), record("c-model")):
        assert spare.claimed_by == ana
        assert spare.claimed_until is not None
        assert spare.claimed_until < shown.claimed_until
    held = hold_submits(screen)
    press(screen, "a")
    heading(screen, "b-model")
    screen.get_by_label("Main").get_by_role("link", name="Runs").click()
    held.pop().continue_()
    screen.get_by_role("heading", name="Runs").wait_for()
    assert Review.objects.get().evaluation == record("a-model")
    claimed = Evaluation.objects.filter(claimed_by__isnull=False)
    assert eventually(lambda: list(claimed.all()) == [record("b-model")])
