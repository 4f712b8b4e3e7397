"""Words of records, and what people type, come to the same."""

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from reviews.search.terms import MAX_WORD_LENGTH, MAX_WORDS, distinct_words, tsquery


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
    assert distinct_words([text]) == words


def test_words_of_several_texts_come_once_each() -> None:
    assert distinct_words(["the proof", "the end"]) == ["the", "proof", "end"]


def test_very_much_text_is_cut() -> None:
    assert len(distinct_words([" ".join(map(str, range(2 * MAX_WORDS)))])) == MAX_WORDS
    assert distinct_words(["x" * 1000]) == ["x" * MAX_WORD_LENGTH]


def test_a_query_takes_beginnings_but_not_very_short_ones() -> None:
    assert tsquery("Induction on n") == "'induction':* & 'on' & 'n'"


@pytest.mark.parametrize("text", ["", "  ", "!!! &|", "\0"])
def test_no_words_are_no_query(text: str) -> None:
    assert not tsquery(text)


@pytest.mark.django_db
@given(st.text(min_size=1))
def test_postgresql_takes_every_query_and_finds_the_text_by_it(text: str) -> None:
    found = tsquery(text)
    if found:
        with connection.cursor() as cursor:
            cursor.execute("SELECT array_to_tsvector(%s) @@ %s::tsquery", [distinct_words([text]), found])
            assert cursor.fetchone() == (True,)
