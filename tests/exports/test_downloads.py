"""Downloads of exports."""

import pytest

from reviews.exports.downloads import asked_range


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("", None),
        ("bytes=0-0", range(1)),
        ("bytes=0-9", range(10)),
        ("bytes=3-", range(3, 10)),
        ("bytes=3-99", range(3, 10)),
        ("bytes=-4", range(6, 10)),
        ("bytes=-99", range(10)),
        ("bytes=-0", range(10, 10)),
        ("bytes=10-", range(10, 10)),
        ("bytes=11-12", range(11, 10)),
        ("bytes=-", None),
        ("bytes=5-4", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=x-", None),
    ],
)
def test_range_header_is_parsed_as_in_http(header: str, asked: range | None) -> None:
    assert asked_range(header, 10) == asked
    assert bool(asked_range(header, 10)) == bool(asked)
