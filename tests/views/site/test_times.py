"""Times in sentences become local in the browser, and everything else in them is escaped."""

import pytest

from reviews.templatetags.times import with_times


@pytest.mark.parametrize(
    ("sentence", "html"),
    [
        (
            "since 2026-03-01 14:05 UTC.",
            'since <time datetime="2026-03-01T14:05:00Z">2026-03-01 14:05 UTC</time>.',
        ),
        ("<b> & no time", "&lt;b&gt; &amp; no time"),
        ("2026-13-01 14:05 UTC and 25:00 UTC", "2026-13-01 14:05 UTC and 25:00 UTC"),
        ("\u0662\u0663:00 UTC", "\u0662\u0663:00 UTC"),
    ],
)
def test_times_in_a_sentence_are_marked_up(sentence: str, html: str) -> None:
    assert with_times(sentence) == html


def test_time_without_date_is_of_today() -> None:
    marked = with_times("Your claim expired at 09:02 UTC.")
    assert marked.startswith("Your claim expired at <time datetime=")
    assert "T09:02:00Z" in marked
    assert "data-clock>09:02 UTC</time>." in marked
