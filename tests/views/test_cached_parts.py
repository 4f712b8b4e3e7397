"""Parts of pages are rendered once for equal values."""

import re

from django.template import Context, Template

from reviews.templatetags import cached_parts
from reviews.templatetags.navigation import Entry
from reviews.views.runs.filter_menu import MenuFilter


def test_part_is_rendered_once_for_equal_values_and_again_for_others() -> None:
    template = Template(
        "{% load cached_parts %}"
        '{% include_cached "runs/filter_values.html" one=one run=7 sort="file" values=values %}'
    )
    cached_parts._render.cache_clear()

    def render(title: str) -> str:
        one = MenuFilter("task", title, "choose", options=(), more=0)
        return template.render(Context({"one": one, "values": ()}))

    assert "<summary>A &lt;task&gt;</summary>" in render("A <task>")
    assert render("A <task>") == render("A <task>")
    assert "<summary>Model</summary>" in render("Model")
    assert cached_parts._render.cache_info().misses == 2


def test_token_of_a_form_is_that_of_the_reader() -> None:
    template = Template('{% load cached_parts %}{% include_cached "runs/export_button.html" run=run %}')
    cached_parts._render.cache_clear()
    pages = [template.render(Context({"run": 7, "csrf_token": token})) for token in ("ana", "bo")]
    assert [re.findall(r'name="csrfmiddlewaretoken" value="([^"]*)"', page) for page in pages] == [
        ["ana"],
        ["bo"],
    ]
    assert cached_parts._render.cache_info().misses == 1


def test_value_cannot_take_the_place_of_a_token() -> None:
    template = Template('{% load cached_parts %}{% include_cached "includes/own_pages.html" own=own %}')
    assert cached_parts._TOKEN == "<token>"
    own = (Entry("<token>", "/"),)
    page = template.render(Context({"own": own, "csrf_token": "secret"}))
    assert "&lt;token&gt;" in page
    assert "secret" not in page
