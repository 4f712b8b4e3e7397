"""Formulas in the evidence: typeset in place, with a sign if they are cut, from left to right."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import User
from tests.browser.conftest import start_session
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)


_FITS = """place => {
    const box = document.querySelector(place);
    return box.scrollWidth <= box.clientWidth;
}"""


_ANSWERS = {
    "bare": r"\frac{1}{2}",
    "large": r"$\dfrac{\frac{1}{2}}{3}$",
    "display": r"It is \[\sum_{n=1}^\infty \frac{1}{n^2}\].",
    "long": r"\(" + "x + " * 60 + r"y\)",
    "prose": "Yes, because " + r"\(a\) and " * 8,
}


_HEIGHTS = "rows => rows.map(row => row.getBoundingClientRect().height)"


@pytest.mark.parametrize("width", [1280, 390])
def test_formulas_among_other_models_are_typeset_in_place_and_cut(
    page: Page, live_server: LiveServer, ana: User, width: int
) -> None:
    run = RunFactory.create()
    records = [
        EvaluationFactory.create(
            run=run, task_id="7", model_id=name, structured_model_response={"final_answer": answer}
        )
        for name, answer in _ANSWERS.items()
    ]
    start_session(page, live_server.url, ana)
    page.set_viewport_size({"width": width, "height": 900})
    page.route("**/katex*.js", lambda route: route.abort())
    page.goto(f"{live_server.url}/evaluations/{records[0].pk}/")
    rows = page.locator("#siblings tbody tr")
    before = rows.evaluate_all(_HEIGHTS)
    page.unroute("**/katex*.js")
    page.reload()
    page.locator("#siblings").scroll_into_view_if_needed()
    for name in _ANSWERS:
        expect(rows.filter(has_text=name).locator(".answer .katex").first).to_be_attached()
    page.evaluate("document.fonts.ready")
    assert rows.evaluate_all(_HEIGHTS) == before
    assert page.locator("#siblings .math-error, #siblings [data-wide]").count() == 0
    assert page.locator("#siblings .scroll").evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.exhaustive
def test_wide_formulas_scroll_sideways_with_a_sign_and_by_keyboard(
    page: Page, live_server: LiveServer, ana: User
) -> None:
    matrix = r"\begin{pmatrix} " + " & ".join(f"a_{{{n}}} + b" for n in range(30)) + r" \end{pmatrix}"
    table = "| a | b |\n|---|---|\n| " + f"${matrix}$ | {'w' * 200} |"
    blocks = (
        table,
        f"Short $x$, wide ${matrix}$.",
        f"$$ {matrix} $$",
        f"```\n{'code' * 100}\n```",
        "word" * 100,
    )
    text = "\n\n".join(blocks)
    answers = {"steps": [text], "final_answer": f"${matrix}$", "values": {"k" * 100: ["v" * 300]}}
    record = EvaluationFactory.create(
        structured_model_response=answers,
        structured_ideal_response={**answers, "final_answer": "$2$"},
        parsed_rubric_scores={"depth": {"score": "No", "justification": text}},
    )
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    page.get_by_label("Highlight differences").check()
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        answer = page.locator(".comparison del .math[data-wide]")
        expect(answer).to_have_attribute("tabindex", "0")
        expect(answer).to_have_css("background-image", re.compile("linear-gradient.*linear-gradient"))
        for place in ("html", "#evidence", "#scores"):
            page.wait_for_function(_FITS, arg=place)
    answer.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.scrollLeft > 0")
    page.locator("#scores .justification p").first.scroll_into_view_if_needed()
    wide = page.locator("#scores .justification p .math:not([data-display=true])")
    expect(wide.last).to_have_attribute("data-wide", "")
    assert wide.first.get_attribute("data-wide") is None


# The left edges of a letter before a formula, of the formula's first and of its last sign.
_EDGES = """(text) => {
    const before = new Range();
    before.setEnd(text.firstChild, 1);
    before.setStart(text.firstChild, 0);
    const signs = [...text.querySelectorAll(".katex-html .mord")];
    return [before, signs[0], signs.at(-1)].map((part) => part.getBoundingClientRect().left);
}"""


@pytest.mark.exhaustive
def test_formula_in_arabic_text_reads_from_left_to_right(
    page: Page, live_server: LiveServer, ana: User
) -> None:
    answer = "\u0627\u0644\u062c\u0648\u0627\u0628 $x=5$."
    record = EvaluationFactory.create(structured_model_response={"response": {"steps": [answer]}})
    start_session(page, live_server.url, ana)
    page.goto(f"{live_server.url}/evaluations/{record.pk}/")
    text = page.locator(".evidence p:visible, .evidence li:visible").filter(has=page.locator(".katex")).last
    letter, first, last = text.evaluate(_EDGES)
    assert first < last < letter
