r"""The formulas of a text: between `$ $`, `$$ $$`, `\( \)`, `\[ \]`, or `\begin{align} \end{align}`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

CLOSING = {"$$": "$$", "$": "$", r"\(": r"\)", r"\[": r"\]"}
DISPLAY = {"$$", r"\["}
MAX_CHARS = 10_000
_MAX_OPENINGS = 2_000
# "$5 (or US$ 7)" is about money: it begins with a digit and holds words.
_MONEY = re.compile(r"\d.*[\s(][A-Za-z]{2,}(?:[\s,.;:)]|$)", re.DOTALL)


class Formula(NamedTuple):
    """Where a formula stands in a text, its delimiters with it, and what is between them."""

    start: int
    end: int
    source: str
    is_display: bool


# Code and escaped backslashes are none; what has no such group is stepped over.
_OPENING = re.compile(
    r"`+[^`]*`+|\\\\|\\\$|(?P<opening>\$\$?|\\[(\[])"
    r"|\\begin\{(?P<name>(?:equation|multline|gather|align|alignat|flalign|eqnarray|[pbBvV]?matrix)\*?)\}"
)


def find_formulas(text: str) -> Iterator[Formula]:
    """The formulas of a text in their order; where there are thousands, the first of them."""
    position = 0
    for _ in range(_MAX_OPENINGS):
        found = _OPENING.search(text, position)
        if not found:
            return
        formula = _formula(text, found)
        position = formula.end if formula else found.end()
        if formula:
            yield formula


def _formula(text: str, found: re.Match[str]) -> Formula | None:
    if name := found["name"]:
        closing = f"\\end{{{name}}}"
        end = text.find(closing, found.end(), found.end() + MAX_CHARS)
        span = slice(found.start(), end + len(closing))
        return Formula(span.start, span.stop, text[span], is_display=True) if end >= 0 else None
    opening = found["opening"]
    end = content_end(text, opening, found.end()) if opening else -1
    if end < 0:
        return None
    source = text[found.end() : end]
    return Formula(found.start(), end + len(CLOSING[opening]), source, opening in DISPLAY)


def content_end(text: str, opening: str, start: int) -> int:
    """Where the content ends of a formula that begins at `start`; -1 where none does."""
    end = _find_closing(text, CLOSING[opening], start)
    content = text[start:end]
    if end < 0 or not content.strip() or "`" in content:
        return -1
    return -1 if opening == "$" and not _is_dollar_math(text, start, end) else end


def _find_closing(text: str, closing: str, start: int) -> int:
    """Where the formula ends: an escaped dollar is part of it. -1 where it does not end soon enough."""
    end = text.find(closing, start, start + MAX_CHARS)
    while closing[0] == "$" and end > start and text[end - 1] == "\\":
        end = text.find(closing, end + 1, start + MAX_CHARS)
    return end


def _is_dollar_math(text: str, start: int, end: int) -> bool:
    """Tell `$x$` from money: `$5 and $10`, `5$, then 6$`, `$5-$10`."""
    content = text[start:end]
    after_digit = text[start - 2 : start - 1].isdigit()
    return not (
        content[0].isspace()
        or content[-1].isspace()
        or text[end + 1 : end + 2].isdigit()
        or (after_digit and not (content[0].isalpha() or content[0] in "\\{("))
        or _MONEY.match(content)
    )
