"""The accessibility checks report known defects."""

import pytest
from playwright.sync_api import Page

from tests.browser.test_accessibility import AXE, out_of_reach, page, problems

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["page"]


def test_problems_finds_violations_and_overflow(page: Page) -> None:
    page.set_content(
        "<style>aside { display: none } @media (width < 400px) { aside { display: block } }</style>"
        '<main><p style="color: #999; width: 400px">Pale, and too wide for a phone.</p></main>'
        '<aside style="color: #aaa">Pale, and only on a phone.</aside>'
        '<label for="field" style="margin-right: 30px">Far</label><input id="field">'
    )
    page.evaluate(AXE.read_text())
    found = " ".join(problems(page, "light"))
    assert "light: color-contrast at p" in found
    assert "html-has-lang" in found
    assert 'light: far from its field: <label for="field"' in found
    assert "320 px: reaches over the side: <p" in found
    assert "320 px: color-contrast at aside" in found


def test_out_of_reach_finds_controls_that_tab_skips(page: Page) -> None:
    page.set_content("<button>One</button><button>Two</button>")
    assert out_of_reach(page) == []
    page.evaluate("() => { document.querySelector('button').onkeydown = (event) => event.preventDefault(); }")
    page.locator("button").first.focus()
    assert out_of_reach(page) == ['<button data-control="1">Two</button>']
