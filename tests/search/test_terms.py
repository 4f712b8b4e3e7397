"""Words of records, and what people type, come to the same."""

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from reviews.search.terms import LONGEST_WORD, MOST_WORDS, query, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"Ends with \(\frac{1}{2}\).", ["ends", "with", "frac", "1", "2"]),
        ("eval_cb5036a6-66ae", ["eval", "cb5036a6", "66ae"]),
        ("o1-mini and O1-MINI", ["o1", "mini", "and"]),
        ("Éclair STRASSE straße", ["éclair", "strasse"]),
        ("<b>bold</b>", ["b", "bold"]),
        ("…!?", []),
    ],
)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text: str, words: list[str]) -> None:
    assert words_of([text]) == words


def test_words_of_several_texts_come_once_each() -> None:
    assert words_of(["the proof", "the end"]) == ["the", "proof", "end"]


def test_very_much_text_is_cut() -> None:
    assert len(words_of([" ".join(map(str, range(2 * MOST_WORDS)))])) == MOST_WORDS
    assert words_of(["x" * 1000]) == ["x" * LONGEST_WORD]


def test_a_query_takes_beginnings_but_not_very_short_ones() -> None:
    assert query("Induction on n") == "'induction':* & 'on' & 'n'"


@pytest.mark.parametrize("text", ["", "  ", "!!! &|", "\0"])
def test_no_words_are_no_query(text: str) -> None:
    assert not query(text)


@pytest.mark.django_db
@given(st.text(min_size=1))
def test_postgresql_takes_every_query_and_finds_the_text_by_it(text: str) -> None:
    found = query(text)
    if found:
        with connection.cursor() as cursor:
            cursor.execute("SELECT array_to_tsvector(%s) @@ %s::tsquery", [words_of([text]), found])
            assert cursor.fetchone() == (True,)
