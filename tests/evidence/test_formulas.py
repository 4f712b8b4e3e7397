"""Positions of formulas in a text. See `test_rendering` for texts that are no formulas."""

import pytest

from reviews.evidence.formulas import find_formulas


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (r"$a$ \(b\) $$c$$ \[d\]", ["a", "b", "c", "d"]),
        (r"it costs $5 and $10, `$x$` is code, \$y$, \\(z)", []),
        (r"\begin{align} a \end{align}", [r"\begin{align} a \end{align}"]),
        (r"\begin{align} never closed $a$", ["a"]),
    ],
)
def test_formulas_match_those_of_markdown(text: str, sources: list[str]) -> None:
    assert [found.source for found in find_formulas(text)] == sources


def test_formula_includes_its_delimiters() -> None:
    [found] = find_formulas(r"so \( x \) holds")
    assert (found.start, found.end, found.source, found.is_display) == (3, 10, " x ", False)


def test_number_of_formulas_is_limited() -> None:
    assert len(list(find_formulas("$x$ " * 5_000))) == 2_000
