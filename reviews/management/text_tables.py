"""Lay out tables and sentences for a terminal or a pipe. Words are broken only if they do not fit."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from reviews.records.wording import printable

_GAP = 2
# A longer word, such as a path, may be broken after its separators.
_LONGEST_WORD = 16
# The widths follow from so many different cells of a column.
_SEEN = 50
_PART_OF_WORD = re.compile(r"[^/_-]*[/_-]+|[^/_-]+")


def print_parts(parts: Iterable[RenderableType]) -> None:
    """Print parts of a report to standard output, as wide as the terminal. Empty texts are left out."""
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for part in parts:
        if not isinstance(part, Text) or part.plain:
            console.print(part)


def heading(text: str) -> Text:
    """Return a heading with an empty line before it."""
    return Text(f"\n{printable(text)}", style="bold")


def sentences(lines: Iterable[str]) -> Text:
    """Return sentences, each on its own line and only once."""
    return Text("\n".join(dict.fromkeys(map(printable, filter(None, lines)))))


@dataclass(frozen=True)
class TextTable:
    """A table that is as wide as the terminal, or less."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: The columns that are texts, and therefore left-aligned. The others are numbers.
    texts: Collection[int] = (0,)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        lines = [[printable(cell) for cell in row] for row in (self.headings, *self.rows)]
        columns = [[*dict.fromkeys(column)] for column in zip(*lines, strict=True)]
        widths = _widths(columns, options.max_width - _GAP * (len(columns) - 1))
        for number, row in enumerate(lines):
            style = "" if number else "bold"
            cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
            for parts in zip_longest(*cells, fillvalue=""):
                yield Text(self._line(parts, widths), style, no_wrap=True)

    def _line(self, parts: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            part + " " * (width - cell_len(part)) if place in self.texts else part.rjust(width)
            for place, (part, width) in enumerate(zip(parts, widths, strict=True))
        )
        return (" " * _GAP).join(padded).rstrip()


def _least(text: str) -> int:
    """Return the width that a text needs without a broken word."""
    return max((cell_len(part) for word in text.split() for part in _parts(word, _LONGEST_WORD)), default=0)


def _parts(word: str, width: int) -> list[str]:
    """Return the word, or its parts if it is wider."""
    return [word] if cell_len(word) <= width else _PART_OF_WORD.findall(word)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Divide the room among columns: first what their words need, then where it saves most lines."""
    widths = [max(map(_least, column)) for column in columns]
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    lines = cache(lambda place, width: sum(len(_wrapped(cell, width)) for cell in columns[place][:_SEEN]))
    while True:
        savings = [
            ((lines(place, width) - lines(place, width + more)) / more, more, place)
            for place, width in enumerate(widths)
            for more in range(1, room - sum(widths) + 1)
        ]
        saving, more, place = max(savings, default=(0, 0, 0))
        if not saving:
            return widths
        widths[place] += more


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most this width, between words if possible."""
    lines = [""]
    for word in text.split():
        gap = " " if lines[-1] else ""
        for part in _parts(word, width):
            for piece in chop_cells(part, width) if cell_len(part) > width else [part]:
                if cell_len(lines[-1]) + len(gap) + cell_len(piece) > width and lines[-1]:
                    lines.append(piece)
                else:
                    lines[-1] += gap + piece
                gap = ""
    return lines
