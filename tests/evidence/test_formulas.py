"""Where the formulas of a text are. What is none is tested with `rendering.markdown`."""

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
def test_formulas_are_found_where_markdown_finds_them(text: str, sources: list[str]) -> None:
    assert [found.source for found in find_formulas(text)] == sources


def test_a_formula_spans_its_delimiters() -> None:
    [found] = find_formulas(r"so \( x \) holds")
    assert (found.start, found.end, found.source, found.is_display) == (3, 10, " x ", False)


def test_of_thousands_the_first_are_found() -> None:
    assert len(list(find_formulas("$x$ " * 5_000))) == 2_000
