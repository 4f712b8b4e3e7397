"""A network that answers nothing: what waits for a response goes on as after a failed request."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route

from reviews.models import Draft
from tests.browser.screen import (
    SCORES,
    draft_is,
    heading,
    is_at,
    press,
    record,
    saved,
    wait_for_prefetch,
)
from tests.support.factories import EvaluationFactory
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

_IMPATIENT = """
    const timeout = AbortSignal.timeout;
    AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 20);
"""


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Let requests in the background fail after a twentieth of their time."""
    with page.add_init_script(_IMPATIENT):
        yield page


class Silence:
    """Leave the first requests to an address without an answer."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, route: Route) -> None:
        self._left -= 1
        if self._left < 0:
            route.fallback()


@pytest.mark.usefixtures("_hurried")
def test_draft_without_an_answer_is_saved_again(screen: Page) -> None:
    screen.route("**/draft/", Silence(1))
    press(screen, "y")
    draft_is(screen, "offline")
    draft_is(screen, "saved")
    assert dict(Draft.objects.get().fields)["criteria-0-score"] == "Yes"


@pytest.mark.exhaustive
def test_submit_is_sent_although_the_draft_had_no_answer(screen: Page) -> None:
    wait_for_prefetch(screen, "b-model", "c-model")
    asked: list[str] = []
    screen.on("request", lambda request: asked.append(request.url))
    screen.route("**/draft/", Silence(1))
    press(screen, "y")
    assert eventually(lambda: screen.title() and any(url.endswith("/draft/") for url in asked))
    press(screen, "a")
    heading(screen, "b-model")
    saved(screen, "a-model")
    is_at(screen, "b-model")


@pytest.mark.exhaustive
def test_prefetch_without_an_answer_does_not_end_prefetching(screen: Page) -> None:
    EvaluationFactory.create(
        run=record("a-model").run, task_id="7", model_id="d-model", parsed_rubric_scores=SCORES
    )
    wait_for_prefetch(screen, "b-model", "c-model")
    screen.route("**/prefetch/", Silence(1))
    with screen.expect_event("requestfailed", lambda request: request.url.endswith("/prefetch/")):
        press(screen, "a")
    heading(screen, "b-model")
    saved(screen, "a-model")
    press(screen, "a")
    heading(screen, "c-model")
    wait_for_prefetch(screen, "d-model")
