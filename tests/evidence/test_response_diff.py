"""Comparison of two responses: aligned parts and marked differences."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.evidence.response_diff import MAX_WORDS, DiffPiece, align_parts, diff_words, split_words
from reviews.records.responses import ResponsePart, read_parts

MODEL = {"steps": ["Add.", "Halve."], "final_answer": r"$\frac{1}{2}$", "assumptions": "None."}
IDEAL = {"assumptions": "None.", "steps": ["Add.", "Divide."], "final_answer": "$2$", "format_notes": "exact"}


def differing(one: str, other: str) -> list[str]:
    """Return the marked texts of both sides, the model's first."""
    in_one, in_other = diff_words(split_words(one), split_words(other))
    return [piece.text for piece in (*in_one, *in_other) if piece.kind != "same"]


def test_parts_with_same_name_are_aligned_answer_first() -> None:
    found = align_parts(read_parts(MODEL), read_parts(IDEAL))
    assert [row.label for row in found] == ["Final answer", "Assumptions", "Steps", "Format notes"]
    assert [row.is_same for row in found] == [False, True, False, False]
    assert found[3].model == []


def test_plain_text_is_one_part_besides_the_final_answer() -> None:
    found = align_parts(read_parts(MODEL), [ResponsePart("Final answer", text="2"), *read_parts("It is 2.")])
    assert [(row.label, len(row.model), len(row.ideal)) for row in found] == [
        ("Final answer", 1, 1),
        ("Response", 2, 1),
    ]


def test_text_around_a_response_is_not_compared() -> None:
    around = {"model": "gpt-4o", "response": MODEL}
    assert "model" not in [row.label for row in align_parts(read_parts(around), read_parts(IDEAL))]


def test_different_words_are_marked_on_their_side() -> None:
    assert diff_words(split_words("it is 54 now"), split_words("it is 60 now")) == (
        [DiffPiece("same", "it is "), DiffPiece("removed", "54 "), DiffPiece("same", "now")],
        [DiffPiece("same", "it is "), DiffPiece("added", "60 "), DiffPiece("same", "now")],
    )


@pytest.mark.parametrize(
    ("one", "other", "marked"),
    [
        (r"so $x + 1$ holds", r"so $x + 2$ holds", ["$x + 1$", "$x + 2$"]),
        (r"so \(a\) and \[b\]", r"so \(a\) and \[c\]", [r"\[b\]", r"\[c\]"]),
        (r"\frac{1}{2}", r"\tfrac{1}{2}", [r"\frac", r"\tfrac"]),
        (r"so $x+1$ holds", r"so \( x + 1 \) holds", []),
        ("a  b", "a b", []),
        ("it costs $5 and $10", "it costs $5 and $12", ["10", "12"]),
    ],
)
def test_formula_is_one_word_with_any_delimiter(one: str, other: str, marked: list[str]) -> None:
    assert [text.strip() for text in differing(one, other)] == marked


TEXTS = st.lists(st.sampled_from(["a ", "b ", "c", ". ", "$x$ ", r"\(y\)", "\n"]), max_size=300).map("".join)


@given(TEXTS, TEXTS)
def test_pieces_join_to_the_original_texts(one: str, other: str) -> None:
    in_one, in_other = diff_words(split_words(one), split_words(other))
    assert "".join(piece.text for piece in in_one) == one
    assert "".join(piece.text for piece in in_other) == other
    shared = [
        re.sub(r"\s", "", "".join(piece.text for piece in side if piece.kind == "same"))
        for side in (in_one, in_other)
    ]
    assert shared[0] == shared[1]


def test_long_texts_are_compared_by_unique_words() -> None:
    text = " ".join(f"word{number}" for number in range(2_000))
    assert differing(text, text.replace("word1000 ", "other ")) == ["word1000 ", "other "]


def test_damaged_latex_is_compared_after_repair() -> None:
    [row] = align_parts(read_parts("a \x0crac{1}{2}"), read_parts(r"a \frac{1}{2}"))
    assert row.is_same


def test_too_long_texts_are_not_compared() -> None:
    [row] = align_parts(read_parts("x " * (MAX_WORDS + 1)), read_parts("y"))
    assert row.is_too_long
    assert row.in_model == row.in_ideal == []


@pytest.mark.parametrize(
    ("model", "ideal", "is_same", "is_unclear", "is_marked"),
    [
        (r"$\dfrac{1}{2}$", "0.5", True, False, False),
        ("54", "60", False, False, True),
        ("x + 1", "1 + x", False, True, True),
    ],
)
def test_final_answers_are_compared_by_content(
    model: str,
    ideal: str,
    is_same: bool,
    is_unclear: bool,
    is_marked: bool,
) -> None:
    [row] = align_parts([ResponsePart("Final answer", model)], [ResponsePart("Final answer", ideal)])
    assert (row.is_same, row.is_unclear, bool(row.in_model)) == (is_same, is_unclear, is_marked)


def test_differences_are_marked_in_formatted_text() -> None:
    [row] = align_parts(
        [ResponsePart("Response", "## Result\n\nIt is **54** in `a`.")],
        [ResponsePart("Response", "It is __60__ in *a*.")],
    )
    [model], [ideal] = row.in_model, row.in_ideal
    assert [html.splitlines() for html in model.html] == [
        [
            '<p class="heading"><del>Result</del></p>',
            "<p>It is <strong><del>54</del></strong> in <code>a</code>.</p>",
        ]
    ]
    assert [html.strip() for html in ideal.html] == [
        "<p>It is <strong><ins>60</ins></strong> in <em>a</em>.</p>"
    ]


def test_results_without_delimiters_differ_as_whole_formulas() -> None:
    one = {"final_answer": r"\frac{1}{2}", "intermediate_results": ["x^2", "y"], "steps": ["x^2"]}
    other = {"final_answer": r"\frac{1}{3}", "intermediate_results": ["x^3", "y"], "steps": ["x^3"]}
    rows = {row.label: row.in_model[0].html for row in align_parts(read_parts(one), read_parts(other))}
    formula = '<p><del><span class="math" data-display="false">{}</span></del></p>'
    assert rows["Final answer"] == [formula.format(r"\frac{1}{2}")]
    assert rows["Intermediate results"][0] == formula.format("x^2")
    assert rows["Steps"] == ["<p>x^<del>2</del></p>\n"]


def test_differences_in_lists_and_data_stay_in_their_items() -> None:
    one = read_parts({"steps": ["Add a.", "Halve."], "values": {"k": 1}})
    other = read_parts({"steps": ["Add a.", "Divide."], "values": {"k": 2}})
    steps, values = align_parts(one, other)
    assert [html.strip() for html in steps.in_model[0].html] == ["<p>Add a.</p>", "<p><del>Halve</del>.</p>"]
    assert '<span class="mi"><ins>2</ins></span>' in values.in_ideal[0].html[0]


def test_texts_that_differ_in_formatting_only_are_the_same() -> None:
    [row] = align_parts([ResponsePart("Response", "It is **54**.")], [ResponsePart("Response", "It is 54.")])
    assert (row.is_same, row.in_model, row.in_ideal) == (True, [], [])
