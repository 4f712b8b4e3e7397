"""Tables of figures: the same cells stand on a page, in the chart above them and in a CSV file."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.http import StreamingHttpResponse

from reviews.exports.formats import CONTENT_TYPES, csv_row
from reviews.http.streaming import download
from reviews.statistics.intervals import Estimate

_MOST_UNFOLDED = 12

Value = str | int | float | None


class Column(NamedTuple):
    """`name` heads the column in a CSV file; `help` says behind a “?” what its figures are.

    A column with a `series` is one in the chart, under that name; one with `notes` has a second column in the
    file, of that name, for the notes of its cells; `parts` name further ones, for the parts of its cells.
    `is_action` ones hold buttons, and are in no file.
    """

    name: str
    title: str
    help: str = ""
    is_number: bool = True
    series: str = ""
    notes: str = ""
    is_action: bool = False
    parts: tuple[str, ...] = ()


class Cell(NamedTuple):
    """`text` is what people read, with `note` below it, `value` what a chart and a CSV file have of it.

    It leads to `url`; where `post` is an address, it is a button that posts there. `why` is a sentence behind
    a “?”, and `parts` are values for the further columns that a CSV file has of it.
    """

    text: str
    value: Value = None
    url: str = ""
    note: str = ""
    post: str = ""
    why: str = ""
    parts: tuple[Value, ...] = ()

    @property
    def words(self) -> str:
        """The same within a sentence."""
        return f"{self.text} ({self.note})" if self.note else self.text


class Table(NamedTuple):
    """`chart` is "bar", "line" or empty; `empty` is the sentence that stands for no rows.

    `intro` is read before the figures, and `is_percent` says what the series of the chart are. One that
    `folds` shows its rows only when asked, where there are many.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Iterable[Sequence[Cell]]
    empty: str
    intro: str = ""
    chart: str = ""
    is_percent: bool = False
    folds: bool = False

    @property
    def is_folded(self) -> bool:
        return self.folds and len(self.lines) > _MOST_UNFOLDED

    @property
    def lines(self) -> list[list[tuple[Column, Cell]]]:
        """The rows, each cell with its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def undefined(self) -> list[tuple[str, str]]:
        """What stands behind the “?” of cells, each sentence once, with the cells it is about before it."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            for column, cell in line:
                if cell.why:
                    found.setdefault(cell.why, []).append(f"{column.title} of {line[0][1].text}")
        return [("; ".join(cells), why) for why, cells in found.items()]


class LinkedTable(NamedTuple):
    """A table with a link to its CSV file."""

    table: Table
    #: Empty if the reader may not download the file.
    csv_url: str


class Tab(NamedTuple):
    """A link in a row of pages that show the same subject."""

    title: str
    url: str
    is_current: bool


def on_paper(table: Table, *left_out: str) -> Table:
    """The same without what paper cannot do (fold, draw a chart), and without columns of these names."""
    places = [place for place, column in enumerate(table.columns) if column.name not in left_out]
    columns = [table.columns[place] for place in places]
    rows = [[row[place] for place in places] for row in table.rows]
    return Table(table.name, table.title, columns, rows, table.empty, table.intro)


def words(text: str, *, url: str = "") -> Cell:
    """A cell of words, which are its value."""
    return Cell(text, text, url)


def count(number: int, url: str = "", note: str = "") -> Cell:
    """A number, which leads to what was counted where there is any."""
    return Cell(f"{number:,}", number, url if number else "", note)


def moment(at: dt.datetime) -> Cell:
    """A minute in UTC."""
    return words(f"{at:%Y-%m-%d %H:%M}")


NOTHING = Cell("\N{EN DASH}")


def percent(part: int, whole: int, url: str = "") -> Cell:
    """A share, with what it is of; nothing where there is nothing to take a share of."""
    if not whole:
        return NOTHING
    share = 100 * part / whole
    return Cell(f"{share:.0f}%", round(share, 1), url if part else "", f"{part:,} of {whole:,}")


# Estimates, with their intervals. In a file they have `LIMITS` beside the value.
LIMITS = ("low", "high", "n")
_MANY = 200  # from here on a tenth of a percent says something


def share(estimate: Estimate, url: str = "", *, sign: str = "") -> Cell:
    """A share in percent, with a `sign` ("+") also where it is positive; where it is undefined, why."""
    digits = 1 if estimate.n >= _MANY else 0
    return _estimated(estimate, 100, f"{sign},.{digits}f", "%", url)


def figure(estimate: Estimate, spelling: str = ",.2f", url: str = "") -> Cell:
    """A figure that is no share; `spelling` is a format specification."""
    return _estimated(estimate, 1, spelling, "", url)


def _estimated(estimate: Estimate, times: int, spelling: str, unit: str, url: str) -> Cell:
    found = (estimate.value, estimate.low, estimate.high)
    value, low, high = (None if one is None else round(times * one, 4) for one in found)
    parts = (low, high, estimate.n)
    if value is None:
        return Cell(NOTHING.text, None, why=estimate.why, parts=parts)
    between = ""
    if low is not None and high is not None:
        between = f"{_spelled(low, spelling)} to {_spelled(high, spelling)}{unit}, "
    note = f"{between}n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{estimate.n:,}"
    return Cell(f"{_spelled(value, spelling)}{unit}", value, url, note, why=estimate.why, parts=parts)


def _spelled(number: float, spelling: str) -> str:
    """A number as people write it: with a minus, and no sign before what is rounded to nothing."""
    text = f"{number:{spelling}}"
    return text.lstrip("+-") if not text.strip("+-0.,") else text.replace("-", "\N{MINUS SIGN}")


def as_csv(table: Table, file_name: str) -> StreamingHttpResponse:
    """The table as a file, row by row: RFC 4180, and harmless to spreadsheets."""
    return download(_lines(table), file_name, content_type=CONTENT_TYPES[".csv"])


def _lines(table: Table) -> Iterator[bytes]:
    kept = [(place, column) for place, column in enumerate(table.columns) if not column.is_action]
    yield csv_row(name for _, column in kept for name in (column.name, column.notes, *column.parts) if name)
    for row in table.rows:
        yield csv_row(value for place, column in kept for value in _values(column, row[place]))


def _values(column: Column, cell: Cell) -> list[Value]:
    notes = [cell.note] if column.notes else []
    parts = cell.parts or (None,) * len(column.parts)
    return [cell.value, *notes, *(parts if column.parts else ())]
