"""Texts of records and search input are split into the same words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.database.statements import fetch_value
from reviews.search.terms import (
    MAX_WORD_LENGTH,
    MAX_WORDS,
    NAME_MARK,
    distinct_words,
    encoded_words,
    tsquery,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"Ends with \(\frac{1}{2}\).", ["ends", "with", "frac", "1", "2"]),
        ("eval_cb5036a6-66ae", ["eval", "cb5036a6", "66ae"]),
        ("o1-mini and O1-MINI", ["o1", "mini", "and"]),
        ("Éclair STRASSE straße", ["éclair", "strasse"]),
        ("<b>bold</b>", ["b", "bold"]),
        ("one—two “THREE”", ["one", "two", "three"]),
        ("two—Éclairs\N{COMBINING GREEK YPOGEGRAMMENI}", ["two", "éclairs\N{GREEK SMALL LETTER IOTA}"]),
        ("…!?", []),
    ],
)
def test_words_are_lower_case_letters_and_digits(text: str, words: list[str]) -> None:
    assert distinct_words([text]) == words


@given(st.text())
def test_words_are_those_of_the_expression(text: str) -> None:
    words = [word[:MAX_WORD_LENGTH] for word in re.findall(r"[^\W_]+", text.casefold())]
    assert distinct_words([text]) == list(dict.fromkeys(words))
    assert encoded_words([text]) == {word.encode() for word in words}


def test_words_of_several_texts_are_distinct() -> None:
    assert distinct_words(["the proof", "the end"]) == ["the", "proof", "end"]


def test_words_of_long_text_are_limited() -> None:
    for text in (" ".join(map(str, range(2 * MAX_WORDS))), "é" * 1000):
        words = distinct_words([text])
        assert words == list(map(str, range(MAX_WORDS))) or words == ["é" * MAX_WORD_LENGTH]
        assert encoded_words([text]) == {word.encode() for word in words}


def test_query_matches_prefixes_except_short_ones() -> None:
    assert tsquery("Induction on", in_names=True) == "'_induction':* & '_on'"


def test_query_matches_names_and_other_texts() -> None:
    assert tsquery("Induction on") == "('induction':* | '_induction':*) & ('on' | '_on')"


@pytest.mark.parametrize("text", ["", "  ", "!!! &|", "\0"])
def test_text_without_words_gives_no_query(text: str) -> None:
    assert not tsquery(text)


@pytest.mark.django_db
@given(st.text(min_size=1))
def test_postgresql_finds_text_by_every_query(text: str) -> None:
    found = tsquery(text)
    if found:
        for mark in ("", NAME_MARK):
            words = [f"{mark}{word}" for word in distinct_words([text])]
            assert fetch_value("SELECT array_to_tsvector(%s) @@ %s::tsquery", [words, found]) is True
