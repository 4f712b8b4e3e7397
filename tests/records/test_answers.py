"""Final answers are equal by content, and never when they may differ."""

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reviews.records.answers import MAX_CHARS, answer_key, compare_answers

SAME = [
    [
        "1/2",
        r"$\frac{1}{2}$",
        r"\dfrac{1}{2}",
        r"\(\tfrac12\)",
        "0.5",
        ".50",
        "$0.5$.",
        r"**\boxed{\frac{1}{2}}**",
    ],
    ["-1/2", r"-\frac{1}{2}", r"\frac{-1}{2}", "\u22120.5", r"$-\,0.5$"],
    ["1,000", "1000", r"1{,}000", r"$1\,000$", "1000.0", "1,000.00", "1\u202f000."],
    ["1,234,567 people", "1234567 people"],
    ["50%", r"50\%", "50 percent", r"$50\%$", r"50 \text{ percent}"],
    ["54°", r"54^\circ", r"$54^{\circ}$", "54 degrees"],
    ["5 cm", r"5\text{ cm}", r"$5\,\text{cm}$", r"5 \mathrm{cm}."],
    ["x = 1", "$x=1$.", r"\[ x\,=\,1 \]", r"$$\boxed{x = 1}$$"],
    ["(1/2)", r"\left( 1/2 \right)"],
    ["x^2", "x^{2}", "x ^ 2"],
    ["x and y", "$x$ and $y$", r"\(x\) and \(y\)"],
    [r"\pi r^2", r"\pi  r^{2}", "π r^2"],
]
DIFFERENT = [
    ["1 1/2", "11/2", r"1\frac{1}{2}", "1/2"],
    ["1 2", "12", "1, 2", "1.2"],
    [r"x \in t", r"x \int"],
    ["$5", "5"],
    ["$5 and $10", "5 and 10"],
    ["50%", "50", "0.5"],
    ["54°", "54"],
    ["1, 2, 3...", "1, 2, 3"],
    ["(1,200)", "(1200)", "1200"],
    ["1,200, 3", "1200, 3"],
    ["~5", "5"],
    ["x^{12}", "x^12"],
    [r"x^\text{ab}", "x^ab", r"x^{ab}"],
    ["007", "7"],
    ["a cat", "acat"],
    ["1/0", "0", "0/1 1"],
    ["x", "X", "-x", "x'"],
    ["2^3", "23", "2_3"],
    [r"\{1\}", "{1}", "[1]", "(1)"],
    ["1\u20132", "1-2"],
    ["x²", "x2"],
]  # fmt: skip
PIECES = [
    "1",
    "2",
    "10",
    "/",
    ".",
    ",",
    "-",
    " ",
    "x",
    "^",
    "{",
    "}",
    "$",
    r"\frac",
    r"\text",
    r"\,",
    "%",
    r"\(",
    r"\)",
    "000",
]
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


@pytest.mark.parametrize("answers", SAME, ids=lambda answers: answers[0])
def test_equivalent_answers_are_the_same(answers: list[str]) -> None:
    assert {compare_answers(one, other) for one, other in combinations(answers, 2)} == {"same"}


@pytest.mark.parametrize("answers", DIFFERENT, ids=lambda answers: answers[0])
def test_answers_that_may_differ_are_never_the_same(answers: list[str]) -> None:
    assert len({answer_key(answer) for answer in answers}) == len(answers)


@pytest.mark.parametrize(
    ("one", "other", "comparison"),
    [
        ("54", "60", "different"),
        (r"$\frac{1}{2}$", "2", "different"),
        ("3", "3.14", "different"),
        ("A", "B.", "different"),
        ("0.33", r"\frac{1}{3}", "unclear"),
        ("1,200", "1.2", "unclear"),
        ("54°", "54", "unclear"),
        ("x+1", "1+x", "unclear"),
        ("Paris", "France", "unclear"),
        ("", "", "unclear"),
        ("", "5", "unclear"),
    ],
)
def test_difference_is_certain_only_between_numbers_and_choices(
    one: str, other: str, comparison: str
) -> None:
    assert compare_answers(one, other) == compare_answers(other, one) == comparison


Spelling = Callable[[Fraction], str]
SPELLINGS: tuple[Spelling, ...] = (
    lambda value: f"{value.numerator}/{value.denominator}",
    lambda value: rf"$\frac{{{value.numerator}}}{{{value.denominator}}}$",
    lambda value: rf"\dfrac{{{value.numerator}}}{{{value.denominator}}}.",
    lambda value: str(float(value)) if value.denominator in {1, 2, 4, 8} else str(value),
    lambda value: f"{value.numerator:,}" if value.denominator == 1 else rf"\boxed{{{value}}}",
)
VALUES = st.builds(Fraction, st.integers(-10_000, 10_000), st.sampled_from([1, 1, 2, 4, 8, 3, 7]))


@given(VALUES, VALUES, st.sampled_from(SPELLINGS), st.sampled_from(SPELLINGS))
def test_numbers_are_the_same_if_and_only_if_their_values_are(
    one: Fraction, other: Fraction, spell_one: Spelling, spell_other: Spelling
) -> None:
    assert compare_answers(spell_one(one), spell_other(one)) == "same"
    assert (compare_answers(spell_one(one), spell_other(other)) == "same") == (one == other)


@pytest.mark.slow
def test_no_two_short_answers_with_other_digits_or_letters_are_the_same() -> None:
    """Try all combinations of pieces. Numbers are compared by value above."""
    pieces = ["1", "2", "/", "-", " ", "x", "^", "{", "}", "$", r"\text", "%"]
    contents: dict[str, set[tuple[str, ...]]] = {}
    for answer in map("".join, chain.from_iterable(product(pieces, repeat=count) for count in range(5))):
        content = tuple(re.findall(r"\\[a-z]+|[0-9]+|[x%^/-]", re.sub(r"\\text(?![a-z])", " ", answer)))
        contents.setdefault(answer_key(answer), set()).add(content)
    assert [key for key, found in contents.items() if len(found) > 1 and not key.startswith("=")] == []


@given(ANSWERS, st.integers(0, 20))
def test_a_changed_digit_or_letter_makes_another_answer(answer: str, place: int) -> None:
    places = [found.start() for found in re.finditer(r"(?<![\\a-z])[12x](?![a-z])", answer)]
    assume(places)
    at = places[place % len(places)]
    changed = answer[:at] + {"1": "3", "2": "7", "x": "y"}[answer[at]] + answer[at + 1 :]
    assume(not re.fullmatch(r"[-+=0/]*", answer_key(answer)))
    is_zero = {answer_key(answer), answer_key(changed)} == {"=0"}
    assert is_zero or answer_key(answer) != answer_key(changed)


def test_long_answers_are_the_same_only_character_by_character() -> None:
    long = "x" * MAX_CHARS + " "
    assert compare_answers(f"{long}1", f"{long}1") == "same"
    assert compare_answers(f"{long}1", f"{long}2") == "unclear"
    assert compare_answers(f"{long}1/2", f"{long}0.5") == "unclear"
