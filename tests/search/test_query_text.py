"""The text of the search field: filters, words, quotes, and a sentence about everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.search import query_text
from reviews.search.filters import FILTERS
from reviews.search.query_text import QueryText, format_words

KNOWN = {
    "model": ["o1", "o1-mini", "gpt-4o"],
    "verdict": ["Pass", "Fail", "Partial", "none"],
    "score": ["Rigor of the proof=No", "Rigor of the proof=Yes", "final_answer=No"],
}


def parse(text: str) -> QueryText:
    return query_text.parse(text, username="ana", values_of=lambda name: KNOWN.get(name, []))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", []),
        ("clarity", [("q", "clarity")]),
        ("model:o1", [("model", "o1")]),
        ("MODEL:GPT", [("model", "gpt-4o")]),
        ("model:mini", [("model", "o1-mini")]),
        ("model:o", [("model", "o1"), ("model", "o1-mini")]),
        ("model:claude", [("model", "claude")]),
        ("verdict:fail", [("verdict", "Fail")]),
        ("score:rigor=no", [("score", "Rigor of the proof=No")]),
        ('score:"final answer"=No', [("score", "final_answer=No")]),
        ('score:"Rigor of the proof=Yes"', [("score", "Rigor of the proof=Yes")]),
        ("assigned-to:me", [("assigned-to", "ana")]),
        ("assigned:me due:overdue", [("assigned-to", "ana"), ("due", "overdue")]),
        ("due:2026-11-27", [("due", "2026-11-27")]),
        ("task:5500", [("task", "5500")]),
        ("two words model:o1 more", [("model", "o1"), ("q", "two words more")]),
        ('"model:o1"', [("q", "model:o1")]),
        ('"an open quote', [("q", "an open quote")]),
        ("q:word", [("q", "word")]),
    ],
)
def test_text_gives_filters_and_words(text: str, pairs: list[tuple[str, str]]) -> None:
    assert parse(text) == (pairs, [])


def test_unknown_filter_is_named_and_left_out() -> None:
    found = parse("colour:red model:o1")
    assert found.pairs == [("model", "o1")]
    [sentence] = found.problems
    assert sentence.startswith("“colour” is not a filter. Filters: status, task, model,")
    assert sentence.endswith('To search for the text, put it in quotes: "colour:red".')


@pytest.mark.parametrize(
    ("text", "problem"),
    [("model:", "Enter a value after “model:”."), ("x" * 3_000, "Enter at most 2,000 characters.")],
)
def test_unusable_text_gives_a_sentence(text: str, problem: str) -> None:
    assert parse(text) == ([], [problem])


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    found = parse(text)
    assert {name for name, _ in found.pairs} <= {*FILTERS}


@pytest.mark.parametrize("words", ["clarity", "two words", "a:b", "http://x"])
def test_searched_words_are_read_back_as_entered(words: str) -> None:
    assert parse(format_words([words])).pairs == [("q", words)]
