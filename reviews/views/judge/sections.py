"""The parts of the judge's pages: sections and cards.

A section answers one question: in words, then as figures, then in tables. To add a section, write a function
that yields it from `JudgeFilters`, and add the function to a page in `reviews.views.judge.pages`.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from reviews.views.dot_plots import DotPlot
from reviews.views.judge.filters import JudgeFilters
from reviews.views.tables import Cell, Column, LinkedTable, Table

#: The colour and the sign of an answer. A neutral answer has none.
Tone = Literal["", "ok", "warn", "bad"]


class Link(NamedTuple):
    """A button in the head of a section."""

    title: str
    url: str


class Section(NamedTuple):
    """A section of a page. Parts without content are not shown."""

    #: The anchor in URLs, and the prefix of ids in the page.
    name: str
    title: str
    #: The answer in one or two sentences, with its figures.
    answer: str = ""
    tone: Tone = ""
    #: The help: two plain sentences, an empty line, then the definition and its source.
    help: str = ""
    plot: DotPlot | None = None
    #: Single figures in a row, with their definitions.
    figures: Sequence[tuple[Column, Cell]] = ()
    #: Sentences that a reader of the figures must know.
    notes: Sequence[str] = ()
    #: Tables behind “Details”.
    tables: Sequence[LinkedTable] = ()
    links: Sequence[Link] = ()
    #: A template that extends `judge/section.html` and fills its block `body`.
    template: str = "judge/section.html"
    #: The data of that template.
    data: Any = None


class Mark(NamedTuple):
    """A line of a card: one finding with its figure, which leads to its records."""

    title: str
    #: The figure in words.
    text: str
    #: Empty if no list of records is behind it.
    url: str = ""


class Card(NamedTuple):
    """A short answer on the overview, which leads to its page."""

    #: The question.
    title: str
    #: The answer in one or two sentences, or the meaning of the figure.
    answer: str
    url: str
    #: The text of the link.
    action: str = "Details"
    #: The answer as a large figure.
    figure: Cell | None = None
    marks: Sequence[Mark] = ()


def precisely(text: str) -> str:
    """Return the definition and source of a help text, without its plain sentences."""
    return text.partition("\n\n")[2]


def linked(table: Table, filters: JudgeFilters) -> LinkedTable:
    """Return a table with the URL of its CSV file."""
    return LinkedTable(table, filters.address("judge-table", table.name))
