"""Tables of figures: the same cells stand on a page, in the chart above them and in a CSV file."""

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.http import StreamingHttpResponse

from reviews.formats import CONTENT_TYPES, harmless
from reviews.views.download import download

_MOST_UNFOLDED = 12

Value = str | int | float | None


class Column(NamedTuple):
    """`name` heads the column in a CSV file; `help` says behind a “?” what its figures are.

    A column with a `series` is one in the chart, under that name; one with `notes` has a second column in the
    file, of that name, for the notes of its cells. `is_action` ones hold buttons, and are in no file.
    """

    name: str
    title: str
    help: str = ""
    is_number: bool = True
    series: str = ""
    notes: str = ""
    is_action: bool = False


class Cell(NamedTuple):
    """`text` is what people read, with `note` below it, `value` what a chart and a CSV file have of it.

    It leads to `url`; where `post` is an address, it is a button that posts there.
    """

    text: str
    value: Value = None
    url: str = ""
    note: str = ""
    post: str = ""


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


def words(text: str, **place: str) -> Cell:
    """A cell of words, which are its value."""
    return Cell(text, text, **place)


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
    return Cell(f"{share:.0f} %", round(share, 1), url if part else "", f"{part:,} of {whole:,}")


def as_csv(table: Table, file_name: str) -> StreamingHttpResponse:
    """The table as a file, row by row: RFC 4180, formula cells neutralised."""
    response = download(_lines(table), file_name)
    response.headers["Content-Type"] = CONTENT_TYPES[".csv"]
    return response


def _lines(table: Table) -> Iterator[bytes]:
    kept = [(place, column) for place, column in enumerate(table.columns) if not column.is_action]
    yield _line(name for _, column in kept for name in (column.name, column.notes) if name)
    for row in table.rows:
        yield _line(value for place, column in kept for value in _values(column, row[place]))


def _values(column: Column, cell: Cell) -> list[Value]:
    return [cell.value, cell.note] if column.notes else [cell.value]


def _line(values: Iterable[Value]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerow(harmless(value) if isinstance(value, str) else value for value in values)
    return written.getvalue().encode()
