"""The tag `url` returns the addresses of Django's tag, and remembers those whose only arguments are keys."""

import pytest
from django.template import Context, Template
from django.urls import NoReverseMatch

from reviews.templatetags import addresses


def render(template: str, **values: object) -> str:
    return Template(template).render(Context(values))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% url 'runs' %}", "/"),
        ("{% url 'run' key %}", "/runs/7/"),
        ("{% url 'run' pk=key %}", "/runs/7/"),
        ("{% url name key as found %}[{{ found }}]", "[/runs/7/]"),
        ("{% url 'welcome' text %}", "/welcome/a&lt;b/"),
        ("{% url 'nothing' key as found %}[{{ found }}]", "[]"),
    ],
)
def test_address(template: str, expected: str) -> None:
    for _ in range(2):
        assert render(template, key=7, name="run", text="a<b").replace("%3C", "&lt;") == expected


def test_unknown_address_raises() -> None:
    with pytest.raises(NoReverseMatch):
        render("{% url 'run' key %}", key=None)


def test_address_with_a_secret_is_not_remembered() -> None:
    render("{% url 'run' key %}", key=8)
    before = addresses._reverse.cache_info().currsize
    render("{% url 'welcome' token %}", token="a secret")
    assert addresses._reverse.cache_info().currsize == before
