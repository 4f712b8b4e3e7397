"""LaTeX backslashes in JSON text, escaped before parsing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.latex import double_backslashes, restore_latex


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        (r"\( x \)", r"\\( x \\)"),
        (r"\[ x \]", r"\\[ x \\]"),
        (r"\alpha", r"\\alpha"),
        (r"\frac{1}{2}", r"\\frac{1}{2}"),
        (r"\theta_1", r"\\theta_1"),
        (r"\beta\bar{x}", r"\\beta\\bar{x}"),
        (r"a \neq b \times \nu", r"a \\neq b \\times \\nu"),
        (r"\forall x", r"\\forall x"),
        (r"\left(\rho\right)", r"\\left(\\rho\\right)"),
        (r"\begin{pmatrix}", r"\\begin{pmatrix}"),
        (r"\upsilon \underline{u}", r"\\upsilon \\underline{u}"),
        (r"10\,000 \{1\}", r"10\\,000 \\{1\\}"),
        ("a\\\nb", "a\\\\\nb"),
    ],
)
def test_backslash_of_latex_is_doubled(text: str, doubled: str) -> None:
    assert double_backslashes(text).text == doubled


@pytest.mark.parametrize(
    "text",
    [
        r"first\nuse the rule",
        r"a\n\nThe next",
        r"\tindented",
        r"\r\nnext",
        r"\nless than",
        r"caf\u00e9",
        r"\ud83d\ude00",
        r"a \"quoted\" word",
        r"a\/b",
        r"\\frac and \\( and \\theta",
        "nothing to do",
        "cut \\",
        "",
    ],
)
def test_escapes_and_doubled_backslashes_are_kept(text: str) -> None:
    assert double_backslashes(text) == (text, [])


def test_odd_run_of_backslashes_is_paired_from_the_left() -> None:
    assert double_backslashes(r"\\\frac").text == r"\\\\frac"


def test_positions_of_added_backslashes_are_returned() -> None:
    text, places = double_backslashes(r"a \( b \frac c")
    assert places == [2, 8]
    assert (
        "".join(character for place, character in enumerate(text) if place not in places) == r"a \( b \frac c"
    )


@given(st.text(r'\nbutfrac{}("/0 1', max_size=60))
def test_doubling_adds_only_backslashes_and_is_idempotent(text: str) -> None:
    doubled, places = double_backslashes(text)
    assert len(doubled) == len(text) + len(places)
    assert {doubled[place] for place in places} <= {"\\"}
    assert double_backslashes(doubled).text == doubled


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_encoded_json_is_not_changed_by_doubling(text: str) -> None:
    encoded = json.dumps(text)
    assert double_backslashes(encoded) == (encoded, [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x0crac{1}{2}", r"\frac{1}{2}"),
        ("\theta_1 \x08eta", r"\theta_1 \beta"),
        ("a \neq b", r"a \neq b"),
        ("\right) \rangle", r"\right) \rangle"),
        ("\x0crac \\frac", r"\frac \frac"),
    ],
)
def test_latex_command_eaten_by_a_json_parser_is_restored(text: str, shown: str) -> None:
    assert restore_latex(text).text == shown


def test_repair_has_the_original_and_the_shown_text() -> None:
    assert restore_latex("\x0crac and \theta").repairs == [("\x0crac", r"\frac"), ("\theta", r"\theta")]


@pytest.mark.parametrize(
    "text",
    [
        "first\nuse this",
        "so\nu is small",
        "so\ne is not",
        "so\nexists",
        "so\nmid way",
        "a\tan example",
        "a\top",
        "\x0cracks",
        "\x0c",
        "line\r\nright",
        "\nthe end",
    ],
)
def test_real_line_break_or_tab_before_a_word_is_kept(text: str) -> None:
    assert restore_latex(text) == (text, [])


@given(st.text(st.characters(exclude_characters="\b\f\n\r\t")))
def test_text_without_control_characters_is_unchanged(text: str) -> None:
    assert restore_latex(text) == (text, [])


@given(st.text(st.sampled_from("\b\f\n\r\tabcefhimnorstux\\ $"), max_size=60))
def test_restoring_latex_is_idempotent(text: str) -> None:
    shown, repairs = restore_latex(text)
    assert restore_latex(shown) == (shown, [])
    assert len(shown) == len(text) + len(repairs)
