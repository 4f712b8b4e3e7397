"""Filled templates equal those of Django."""

from typing import Any

import pytest
from django.utils import html
from django.utils.safestring import SafeString, mark_safe
from hypothesis import given
from hypothesis import strategies as st

from cognireview.web import markup


class Marked:
    """A value with HTML of its own, as forms and their fields."""

    def __html__(self) -> str:
        return "<b>&</b>"


VALUES = st.one_of(
    st.text(),
    st.text("&<>\"'a{}%"),
    st.builds(mark_safe, st.text()),
    st.integers(),
    st.none(),
    st.just(Marked()),
)


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1), VALUES)
def test_filled_template_equals_that_of_django(values: list[Any], named: Any) -> None:
    template = "{} " * len(values) + "<{name}>"
    found = markup.format_html(template, *values, name=named)
    assert found == html.format_html(template, *values, name=named)
    assert type(found) is SafeString


@given(st.text("<& a"), st.lists(st.tuples(VALUES, VALUES)))
def test_joined_rows_equal_those_of_django(separator: str, rows: list[tuple[Any, Any]]) -> None:
    found = markup.format_html_join(separator, "<p>{}{}</p>", rows)
    assert found == html.format_html_join(separator, "<p>{}{}</p>", rows)
    assert type(found) is SafeString


@pytest.mark.parametrize("text", ["<", ">", "&", '"', "'"])
def test_text_with_a_special_character_is_escaped(text: str) -> None:
    assert markup.format_html("{}", text) == html.escape(text) != text
