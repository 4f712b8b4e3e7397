"""Parts of pages are rendered once for equal values."""

from django.template import Context, Template

from reviews.templatetags import cached_parts
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
