"""What was made of a text is kept while there is room."""

from itertools import count

from reviews.evidence.text_cache import TextCache


def test_a_text_is_made_once() -> None:
    cache: TextCache[str] = TextCache(10_000)
    made = [cache.get("x", "bold", make) for make in (lambda: "<b>x</b>", lambda: "made again")]
    assert made == ["<b>x</b>"] * 2


def test_another_text_or_another_variant_is_made_anew() -> None:
    cache: TextCache[str] = TextCache(10_000)
    numbers = count()
    kept = [cache.get(text, variant, lambda: str(next(numbers))) for text in "xy" for variant in "12"]
    assert kept == ["0", "1", "2", "3"]


def test_what_was_asked_for_least_recently_goes_first() -> None:
    cache: TextCache[str] = TextCache(3_500)
    for text in "abc":
        cache.get(text, "", lambda: "x" * 1_000)
    cache.get("a", "", lambda: "made anew")
    cache.get("d", "", lambda: "x" * 1_000)
    assert [cache.get(text, "", lambda: "made anew") != "made anew" for text in "acdb"] == [
        True,
        True,
        True,
        False,
    ]


def test_it_never_takes_more_bytes_than_it_may() -> None:
    cache: TextCache[str] = TextCache(10_000)
    for number in range(100):
        cache.get(f"text {number}", "", lambda: "x" * 3_000)
        assert cache.size <= 10_000
    cache.get("huge", "", lambda: "x" * 20_000)
    assert cache.size == 0
