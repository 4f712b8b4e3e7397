"""Helpers for tests of the review screen.

They look in the page, because Playwright looks for elements and repeats `expect` only a few times a second.
"""

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from reviews.models import Escalation, Evaluation, Review, Skip

# In the order in which PostgreSQL stores the names.
SCORES = {
    "depth": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."},
    "rigour": {"score": "Yes", "justification": "Each step follows."},
    "clarity": {"score": "Yes", "justification": "Easy to read."},
    "elegance": {"score": "Yes", "justification": r"But $\undefined{x}$ is no formula."},
}


# A page behind another one has no frames, for which Playwright would wait between its looks.
_MILLISECONDS = 20
_HAS_ELEMENT = """([selector, words]) =>
    [...document.querySelectorAll(selector)].some((it) => it.textContent.includes(words))
"""
_LACKS_ELEMENT = """selector =>
    document.readyState !== "loading" && !document.querySelector(selector)
"""
_ACCEPTS_KEYS = """() => {
    // A page that is still loading may lack its last elements.
    if (document.readyState === "loading") return false;
    // The script reveals this button when it starts with a screen.
    const button = document.querySelector("#show-keys");
    const screen = document.querySelector("#screen");
    return !button?.hidden && (!screen || screen.dataset.fresh === "no");
}"""


def wait_for(page: Page, selector: str, words: str = "") -> None:
    """Wait for an element that contains these words."""
    page.wait_for_function(_HAS_ELEMENT, arg=[selector, words], polling=_MILLISECONDS)


def wait_until_gone(page: Page, selector: str) -> None:
    """Wait until a page that has been read to its end has no such element."""
    page.wait_for_function(_LACKS_ELEMENT, arg=selector, polling=_MILLISECONDS)


def heading(page: Page, model: str) -> None:
    """Expect the record of this model on the screen."""
    wait_for(page, "h1", f"Task 7 · {model}")


def is_at(page: Page, model: str) -> None:
    """Expect the address of this model's record."""
    expect(page).to_have_url(re.compile(rf"/evaluations/{record(model).pk}/$"))


def comment(page: Page, text: str) -> None:
    page.keyboard.press("c")
    page.keyboard.type(text)


def label(page: Page, words: str) -> None:
    wait_for(page, "#submit", words)


def verdict(page: Page, words: str) -> None:
    expect(page.locator("#verdict")).to_have_text(words)


def settle(page: Page) -> None:
    """Wait until the screen accepts keys: it ignores those meant for the record before.

    A page behind another one has no frames, and accepts none.
    """
    page.bring_to_front()
    page.wait_for_function(_ACCEPTS_KEYS, polling=_MILLISECONDS)


def press(page: Page, *keys: str) -> int:
    """Press keys one after the other once the screen accepts them. Return their number."""
    settle(page)
    for key in keys:
        page.keyboard.press(key)
    return len(keys)


def saved(page: Page, model: str) -> Review:
    """Wait until the page says that this model's record is saved, and return its current decision."""
    wait_for(page, "[role=status]", f"Task 7 · {model} submitted")
    return Review.objects.get(evaluation=record(model))


def record(model: str) -> Evaluation:
    return Evaluation.objects.get(model_id=model)


def scores_of(review: Review) -> dict[str, Any]:
    assert review.corrected_scores
    return dict(review.corrected_scores)


def words_of(review: Review) -> list[Any]:
    """Return the scores in the order of the criteria."""
    return [entry["score"] for entry in scores_of(review).values()]


def wait_for_prefetch(page: Page, *models: str) -> None:
    """Wait until the page has prefetched the records of these models, in this order."""
    have_them = """keys => {
        const found = [...document.querySelector('#prefetched').content.children];
        return keys.every((key, place) => found[place]?.dataset.pk === key);
    }"""
    page.wait_for_function(have_them, arg=[str(record(model).pk) for model in models], polling=_MILLISECONDS)


def hold_submits(page: Page) -> list[Route]:
    """Stop submits before they reach the server. Return the list of requests, which grows."""
    held: list[Route] = []
    page.route("**/submit/", lambda route: held.append(route))  # noqa: PLW0108, Playwright takes no built-in method
    return held


def draft_is(page: Page, state: str) -> None:
    wait_for(page, f"#saved[data-state='{state}']")


def is_untouched(page: Page, model: str) -> None:
    """Expect the record of this model without entries, and one decision in all."""
    heading(page, model)
    expect(page.locator("#criteria .changed")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert Review.objects.count() == 1
    assert not Skip.objects.exists()
    assert not Escalation.objects.exists()


def guard_for(page: Page, milliseconds: int) -> None:
    """Make the prefetched record drop input for longer, so that a slow machine is quick enough."""
    wait_for_prefetch(page, "b-model")
    spare = page.evaluate_handle("document.querySelector('#prefetched').content.firstElementChild")
    spare.evaluate("(it, guard) => { it.dataset.guard = guard; }", milliseconds)
