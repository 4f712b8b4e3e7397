"""The links between the pages of a list keep its filters."""

import pytest

from reviews.views.shortcuts import page_links


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
