"""Blind review by keyboard: score, lock in, submit."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import BlindScores, Evaluation, Run, User
from tests.browser.conftest import start_session
from tests.browser.screen import SCORES, heading, is_at, label, press, saved, scores_of, verdict, words_of

pytestmark = pytest.mark.django_db(transaction=True)

SPARE = "document.querySelector('#prefetched').content.firstElementChild"


@pytest.fixture
def blind(page: Page, live_server: LiveServer, ana: User, algebra: Run) -> Page:
    """Ana at her first record in a run with only blind reviews. The judge's scores: No, Yes, Yes, Yes."""
    Run.objects.update(blind_share=1)
    Evaluation.objects.update(structured_model_response={"response": {"final_answer": "54"}})
    client = start_session(page, live_server.url, ana)
    page.goto(live_server.url + client.post(reverse("claim-next", args=[algebra.pk]))["Location"])
    expect(page.get_by_text("Blind review: the judge's scores are hidden")).to_be_visible()
    return page


def is_revealed(page: Page) -> None:
    said = re.compile("The judge scored .* criteria differently|The judge scored the same on")
    expect(page.locator("#scores-title")).to_have_text(said)
    # It describes the heading with the focus, so screen readers say it. No toast repeats it.
    expect(page.locator("h1:focus")).to_have_accessible_description(said)
    expect(page.locator("#messages .toast")).to_have_count(0)
    expect(page.get_by_text("Blind review: the judge's scores are hidden")).to_be_hidden()


def test_blind_review_takes_four_scores_one_key_to_lock_in_and_one_to_submit(blind: Page) -> None:
    label(blind, "4 scores missing")
    press(blind, "y", "n", "n", "y")
    label(blind, "Lock in my scores")
    verdict(blind, "Fail")
    press(blind, "a")
    is_revealed(blind)
    heading(blind, "a-model")
    expect(blind.get_by_text("The judge's output for this criterion has changed.")).to_have_count(0)
    label(blind, "Submit 3 changes")
    depth = blind.get_by_role("group", name="depth")
    expect(depth.get_by_role("radio", name="Yes you")).to_be_checked()
    expect(depth.get_by_role("radio", name="No judge")).not_to_be_checked()
    expect(depth.get_by_text("No → Yes")).to_be_visible()
    press(blind, "a")
    heading(blind, "b-model")
    is_at(blind, "b-model")
    expect(blind.get_by_text("Blind review: the judge's scores are hidden")).to_be_visible()
    review = saved(blind, "a-model")
    assert words_of(review) == ["Yes", "No", "No", "Yes"]
    assert review.blind_scores == {"depth": "Yes", "rigour": "No", "clarity": "No", "elegance": "Yes"}
    given = BlindScores.objects.get()
    assert given.active_ms
    assert review.active_ms
    assert 0 < given.active_ms < review.active_ms


def test_judge_scores_are_neither_shown_nor_prefetched_before_the_reveal_and_changed_after_it(
    blind: Page,
) -> None:
    press(blind, "r")
    expect(blind.get_by_role("region", name="Raw judge output")).to_have_count(0)
    expect(blind.get_by_role("region", name="Model response")).to_be_visible()
    blind.wait_for_function(f"() => {SPARE}")
    held = blind.evaluate(f"{SPARE}.outerHTML")
    assert "b-model" in held
    assert "Each step follows." not in held
    blind.set_viewport_size({"width": 390, "height": 420})
    press(blind, "Shift+Y", "a")
    is_revealed(blind)
    heading(blind, "a-model")
    expect(blind.get_by_role("heading", name="The judge scored")).to_be_in_viewport()
    assert "b-model" in blind.evaluate(f"{SPARE}.outerHTML")
    label(blind, "Submit 1 change")
    press(blind, "2", "n", "2", "a")
    review = saved(blind, "a-model")
    assert words_of(review) == ["Yes", "No", "Yes", "Yes"]
    assert review.causes == {"rigour": "misread the answer"}
    assert scores_of(review)["clarity"] == SCORES["clarity"]


@pytest.mark.exhaustive
def test_blind_draft_survives_reload_and_lock_in(blind: Page) -> None:
    press(blind, "y", "n")
    blind.keyboard.press("c")
    blind.keyboard.type("Seen twice.")
    blind.keyboard.press("Escape")
    expect(blind.locator("#saved")).to_have_attribute("data-state", "saved")
    blind.reload()
    expect(blind.locator("#restored")).to_be_visible()
    label(blind, "2 scores missing")
    press(blind, "3", "y", "y", "a")
    is_revealed(blind)
    expect(blind.get_by_label("Comment")).to_have_value("Seen twice.")
    expect(blind.locator("#saved")).to_have_attribute("data-state", "saved")
    blind.reload()
    expect(blind.get_by_label("Comment")).to_have_value("Seen twice.")
    label(blind, "Submit 2 changes")


@pytest.mark.exhaustive
def test_incomplete_or_failed_lock_in_changes_nothing(blind: Page) -> None:
    press(blind, "y", "a")
    expect(blind.get_by_role("group", name="rigour")).to_be_focused()
    assert not BlindScores.objects.exists()
    submit = blind.locator("#submit[aria-disabled='true']")
    colour = "button => getComputedStyle(button).backgroundColor"
    before = submit.evaluate(colour)
    submit.hover()
    assert submit.evaluate(colour) == before

    def fail(route: Route) -> None:
        route.abort()

    blind.route(re.compile("/lock-in/$"), fail)
    press(blind, "Shift+Y", "a")
    expect(blind.get_by_role("alert")).to_contain_text("Your work is kept")
    heading(blind, "a-model")
    label(blind, "Lock in my scores")
    blind.unroute(re.compile("/lock-in/$"))
    press(blind, "a")
    is_revealed(blind)
