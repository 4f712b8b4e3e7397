"""Records with hundreds of formulas never block the page for long."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from tests.browser.conftest import open_runs
from tests.browser.screen import settle
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

# The most milliseconds of a task, while the busy work takes this long. Measured on two idle cores: 60 ms for
# the longest task and 15 ms for the busy work. Reading the layout after each formula took 1,700 ms.
MOST_MS = 100
BUSY_MS = 8

_WATCH = """() => {
    window.tasks = [];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) tasks.push(entry.duration); })
        .observe({ type: "longtask", buffered: true });
}"""
# Half computing, half elements with their layout, as in typesetting.
_BUSY = """() => {
    const start = performance.now();
    let sum = 0;
    for (let n = 0; n < 2_000_000; n++) sum += Math.sqrt(n % 1000);
    const box = document.createElement("div");
    for (let n = 0; n < 1500; n++) box.append(`${sum} `, document.createElement("span"));
    document.body.append(box);
    box.getBoundingClientRect();
    box.remove();
    return performance.now() - start;
}"""
_TYPESET = "() => document.querySelectorAll('#evidence .math.typeset').length"
# Whether all formulas on the screen are typeset, or all are not.
_IN_VIEW = """(isTypeset) => {
    const inView = [...document.querySelectorAll("#evidence .math")].filter((node) => {
        const box = node.getBoundingClientRect();
        const isShown = node.checkVisibility({ contentVisibilityAuto: true });
        return isShown && box.bottom > 0 && box.top < innerHeight;
    });
    return inView.length > 4 && inView.every((node) => node.matches(".typeset") === isTypeset);
}"""


def formula(number: int) -> str:
    """Return one of several kinds of formulas."""
    kinds = (
        rf"x_{{{number}}}^2 + \frac{{{number}}}{{{number + 1}}}",
        rf"\sum_{{k=1}}^{{{number}}} k^2 = \frac{{{number}(n+1)}}{{6}}",
        rf"\int_0^{{{number}}} \sqrt{{1+t^2}}\,dt",
        rf"\begin{{pmatrix}} {number} & 1 \\ 0 & \alpha_{{{number}}} \end{{pmatrix}}",
    )
    return kinds[number % len(kinds)]


def steps(count: int) -> list[str]:
    """Return steps with this number of formulas, four to a step, the last of each on a line of its own."""
    inline = [f"then ${formula(number)}$ follows from the last step" for number in range(count)]
    display = [f"\n\n$$ {formula(number)} $$\n\n" for number in range(count)]
    texts = [display[number] if number % 4 == 3 else inline[number] for number in range(count)]
    return [" ".join(texts[start : start + 4]) for start in range(0, count, 4)]


@pytest.fixture
def _watched(page: Page) -> Iterator[None]:
    """Note the long tasks of the next pages."""
    with page.add_init_script(f"({_WATCH})()"):
        yield


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_watched")
def test_record_with_199_formulas_never_blocks_the_page(
    page: Page, live_server: LiveServer, ana: User, record_property: Callable[[str, object], None]
) -> None:
    run = RunFactory.create(name="Long")
    for model in ("a", "b"):
        EvaluationFactory.create(
            run=run,
            task_id="7",
            model_id=model,
            structured_model_response={"steps": steps(199), "final_answer": r"$\frac{1}{2}$"},
            raw_judge_output={"raw_content": " ".join(steps(199))},
        )
    page.set_viewport_size({"width": 1280, "height": 800})
    open_runs(page, live_server.url, ana)
    busy = [page.evaluate(_BUSY)]
    page.get_by_role("button", name="Start reviewing").first.click()
    page.wait_for_function(_IN_VIEW, arg=True)
    assert 4 < page.evaluate(_TYPESET) < 150
    page.wait_for_function("() => document.querySelector('#prefetched').content.querySelector('.typeset')")
    settle(page)
    for is_typeset in (False, True):
        page.keyboard.press("m")
        page.wait_for_function(_IN_VIEW, arg=is_typeset)
        busy.append(page.evaluate(_BUSY))
    page.locator("#evidence").evaluate("pane => pane.scrollTo(0, pane.scrollHeight / 2)")
    page.wait_for_function(_IN_VIEW, arg=True)
    busy.append(page.evaluate(_BUSY))
    settle(page)
    page.keyboard.press("a")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Task 7 · b"))
    page.wait_for_function(_IN_VIEW, arg=True)
    busy.append(page.evaluate(_BUSY))
    longest = max(page.evaluate("tasks"), default=0)
    record_property("longest task, ms", longest)
    record_property("busy work, ms", [round(each) for each in busy])
    assert longest <= MOST_MS * max(1, max(busy) / BUSY_MS)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visible = "[...document.querySelectorAll('#evidence .math')].filter((node) => node.checkVisibility())"
    assert page.evaluate(f"{visible}.every((node) => node.matches('.typeset'))")
