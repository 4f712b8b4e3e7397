"""Links to lists keep their filters, and name only filters that exist."""

import re

import pytest

from cognireview.environment import BASE_DIR
from reviews.models import Run
from reviews.search.filters import FILTERS
from reviews.views.shortcuts import page_links, record_list


@pytest.mark.parametrize(
    ("address", "after", "next_after", "first", "following"),
    [
        ("/people/", "", "", "", ""),
        ("/people/", "", "bo", "", "/people/?after=bo"),
        ("/people/?q=a", "bo", "a&b", "/people/?q=a", "/people/?q=a&after=a%26b"),
    ],
)
def test_page_links_keep_filters(
    address: str, after: str, next_after: str, first: str, following: str
) -> None:
    assert page_links(address, after, next_after) == {"first": first, "previous": "", "next": following}


def test_record_list_has_the_filters() -> None:
    assert record_list(Run(pk=7)) == "/runs/7/"
    assert record_list(Run(pk=7), ("model", "o 1"), ("status", "done")) == "/runs/7/?status=done&model=o+1"


def test_record_list_rejects_unknown_filters() -> None:
    with pytest.raises(KeyError, match="reviewed-form"):
        record_list(Run(pk=7), ("status", "done"), ("reviewed-form", "2026-11-21"))


def test_links_in_templates_name_known_filters() -> None:
    """A list ignores unknown filters: the link would find all records."""
    text = "\n".join(path.read_text() for path in (BASE_DIR / "templates").rglob("*.html"))
    links = re.findall(r"{% url 'run' [^%]*%}(\?[^\"]*)", text)
    named = [name for link in links for name in re.findall(r"[?;]([a-z-]+)=", link)]
    named += re.findall(r"\blist=\"?([a-z-]+)(?:=|%3D)", text)
    assert len(named) > 4
    assert {*named} <= {*FILTERS}
