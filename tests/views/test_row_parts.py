"""Parts of rows equal what Django's filters return."""

import pytest
from django.template.defaultfilters import truncatechars

from reviews.views.row_parts import shorten


@pytest.mark.parametrize(
    "text", ["plain", "naïve — 数学", "e\N{COMBINING ACUTE ACCENT}" * 4, "\N{ANGSTROM SIGN}", ""]
)
@pytest.mark.parametrize("length", [1, 4, 5, 8, 20])
def test_shortened_text_equals_that_of_the_filter(text: str, length: int) -> None:
    assert shorten(text, length) == truncatechars(text, length)
