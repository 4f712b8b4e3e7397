r"""Find the formulas of a text: `$ $`, `$$ $$`, `\( \)`, `\[ \]` and `\begin{align} \end{align}`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

CLOSING = {"$$": "$$", "$": "$", r"\(": r"\)", r"\[": r"\]"}
DISPLAY = {"$$", r"\["}
MAX_CHARS = 10_000
_MAX_OPENINGS = 2_000
# Content like "5 (or US" in "$5 (or US$ 7)" is about money: it begins with a digit and contains words.
_MONEY = re.compile(r"\d.*[\s(][A-Za-z]{2,}(?:[\s,.;:)]|$)", re.DOTALL)


class Formula(NamedTuple):
    """A formula in a text."""

    #: Start and end in characters, including the delimiters.
    start: int
    end: int
    #: The LaTeX between the delimiters; for an environment, with its \\begin and \\end.
    source: str
    is_display: bool


# A formula without delimiters has a command or a power, and neither Markdown nor words outside of \text{}.
_COMMAND_OR_POWER = re.compile(r"\\[A-Za-z]+|\^")
_DELIMITER_OR_MARKDOWN = re.compile(r"\$|\\[(\[\])]|\*\*|`|#|\n")
_TEXT_OR_COMMAND = re.compile(r"\\(?:text|textbf|mathrm|mathbf|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+|\\.")
_WORD = re.compile(r"[^\W\d_]{3}")


def is_bare_formula(text: str) -> bool:
    r"""Return whether a whole text is a formula without delimiters, as the verifier extracts: `95^\circ`."""
    return (
        text.count("{") == text.count("}")
        and bool(_COMMAND_OR_POWER.search(text))
        and not _DELIMITER_OR_MARKDOWN.search(text)
        and not _WORD.search(_TEXT_OR_COMMAND.sub("", text))
    )


# Matches without a group (code, escaped characters) are skipped.
_OPENING = re.compile(
    r"`+[^`]*`+|\\\\|\\\$|(?P<opening>\$\$?|\\[(\[])"
    r"|\\begin\{(?P<name>(?:equation|multline|gather|align|alignat|flalign|eqnarray|[pbBvV]?matrix)\*?)\}"
)


def find_formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas of a text in order, up to a limit of thousands."""
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
    """Return the end of the formula content that begins at `start`; -1 if there is no formula."""
    end = _find_closing(text, CLOSING[opening], start)
    content = text[start:end]
    if end < 0 or not content.strip() or "`" in content:
        return -1
    return -1 if opening == "$" and not _is_dollar_math(text, start, end) else end


def _find_closing(text: str, closing: str, start: int) -> int:
    """Return the start of the closing delimiter, skipping escaped dollars; -1 if it is too far away."""
    end = text.find(closing, start, start + MAX_CHARS)
    while closing[0] == "$" and end > start and text[end - 1] == "\\":
        end = text.find(closing, end + 1, start + MAX_CHARS)
    return end


def _is_dollar_math(text: str, start: int, end: int) -> bool:
    """Distinguish `$x$` from amounts of money: `$5 and $10`, `5$, then 6$`, `$5-$10`."""
    content = text[start:end]
    after_digit = text[start - 2 : start - 1].isdigit()
    return not (
        content[0].isspace()
        or content[-1].isspace()
        or text[end + 1 : end + 2].isdigit()
        or (after_digit and not (content[0].isalpha() or content[0] in "\\{("))
        or _MONEY.match(content)
    )
