"""Limit the work of reading a judge's text."""

import re

from reviews.records.patterns import STRING_BODY

# Characters that may be examined: per character of the text, and at least.
WORK_PER_CHARACTER = 16
WORK_AT_LEAST = 100_000
# Python's own limit depends on its version and on the depth of the calling function.
_MOST_NESTING = 500
_BRACKET = re.compile(rf'"{STRING_BODY}"|[\[\]{{}}]', re.DOTALL)


class OverBudget(Exception):
    """The text is nested too deeply, or takes more work to read than a text of its length should."""


class ReadingBudget:
    """Count the characters examined while reading a text. Methods raise `OverBudget`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = WORK_AT_LEAST + WORK_PER_CHARACTER * len(text)
        self._may_be_deep = text.count("{") + text.count("[") > _MOST_NESTING

    def spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise OverBudget

    def check_nesting(self, start: int, end: int) -> None:
        """Check a part of the text that a parser has accepted."""
        if not self._may_be_deep:
            return
        self.spend(end - start)
        depth = 0
        for found in _BRACKET.finditer(self._text, start, end):
            depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
            if depth > _MOST_NESTING:
                raise OverBudget
