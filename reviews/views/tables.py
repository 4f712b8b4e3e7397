"""Tables of figures, whose cells appear on a page and in a CSV file."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.http import StreamingHttpResponse
from django.urls import reverse

from cognireview.types.estimates import Estimate
from reviews.exports.formats import CONTENT_TYPES, csv_row
from reviews.http.streaming import download
from reviews.models import Evaluation
from reviews.records.wording import rounded
from reviews.templatetags import times

_MOST_UNFOLDED = 12

Value = str | int | float | None


class Column(NamedTuple):
    #: The header in a CSV file.
    name: str
    #: The header on a page.
    title: str
    #: The definition of the figures, shown behind a “?”.
    help: str = ""
    is_number: bool = True
    #: The header of the cells' notes in a CSV file; empty if the file has no notes.
    notes: str = ""
    #: Whether the cells are buttons, which a CSV file does not have.
    is_action: bool = False
    #: The headers of the cells' parts in a CSV file.
    parts: tuple[str, ...] = ()

    @property
    def title_parts(self) -> tuple[str, str]:
        """The title without its last word, and that word, which stays on one line with the “?”."""
        start, _, last = self.title.rpartition(" ")
        return start, last


def text_columns(**titles: str) -> list[Column]:
    """Return columns of texts. The titles are by name."""
    return [Column(name, title, is_number=False) for name, title in titles.items()]


class Cell(NamedTuple):
    #: The text on a page.
    text: str
    #: The value in a CSV file.
    value: Value = None
    #: The target of a link.
    url: str = ""
    #: A small text below `text`.
    note: str = ""
    #: The target of a form. The cell is then a button.
    post: str = ""
    #: Why the value is undefined, shown behind a “?”.
    why: str = ""
    #: Further values in a CSV file, see `Column.parts`. An estimate has `LIMITS`.
    parts: tuple[Value, ...] = ()
    #: The unit of `value` and `limits`. A CSV file has shares from 0 to 1, as JSON has.
    is_percent: bool = False

    @property
    def words(self) -> str:
        """Return text and note for use in a sentence."""
        return f"{self.text} ({self.note})" if self.note else self.text

    @property
    def limits(self) -> tuple[Value, ...]:
        """The ends of the interval of an estimate; empty for other cells."""
        return self.parts[:2] if len(self.parts) == len(LIMITS) else ()

    @property
    def n(self) -> Value:
        """The number of cases of an estimate; None for other cells."""
        return self.parts[2] if len(self.parts) == len(LIMITS) else None


class Table(NamedTuple):
    #: The name in URLs.
    name: str
    title: str
    columns: Sequence[Column]
    rows: Iterable[Sequence[Cell]]
    #: The sentence shown instead of a table without rows.
    empty: str
    #: A sentence above the table.
    intro: str = ""
    #: Whether more than `_MOST_UNFOLDED` rows are folded.
    folds: bool = False

    @property
    def is_folded(self) -> bool:
        return self.folds and len(self.lines) > _MOST_UNFOLDED

    @property
    def lines(self) -> list[list[tuple[Column, Cell]]]:
        """The rows as pairs of column and cell."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def undefined(self) -> list[tuple[str, str]]:
        """Each sentence of `Cell.why` once, after the names of its cells."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            for column, cell in line:
                if cell.why:
                    found.setdefault(cell.why, []).append(f"{column.title} of {line[0][1].text}")
        return [("; ".join(cells), why) for why, cells in found.items()]


class LinkedTable(NamedTuple):
    table: Table
    #: Empty if the reader may not download the file.
    csv_url: str


class Tab(NamedTuple):
    """A link in a row of pages that show the same subject."""

    title: str
    url: str
    is_current: bool


def without_columns(table: Table, *left_out: str) -> Table:
    places = [place for place, column in enumerate(table.columns) if column.name not in left_out]
    columns = [table.columns[place] for place in places]
    rows = [[row[place] for place in places] for row in table.rows]
    return table._replace(columns=columns, rows=rows)


def on_paper(table: Table, *left_out: str) -> Table:
    """Return the table for print: without folding, and the columns of these names."""
    return without_columns(table, *left_out)._replace(folds=False)


def words(text: str, *, url: str = "") -> Cell:
    """Return a cell whose value is its text."""
    return Cell(text, text, url)


def record_cell(record: Evaluation) -> Cell:
    """Return a cell with the title of a record, its link, and its evaluation_id for a CSV file."""
    return Cell(record.title, record.evaluation_id, reverse("evaluation", args=[record.pk]))


def count(number: int | None, url: str = "", note: str = "") -> Cell:
    """Return a cell with a number. It links to `url` unless the number is 0."""
    if number is None:
        return NOTHING
    return Cell(f"{number:,}", number, url if number else "", note)


def moment(at: dt.datetime) -> Cell:
    """Return a cell with a time, which is in UTC in a CSV file, to the minute."""
    return Cell(times.moment(at), f"{at:%Y-%m-%d %H:%M}")


NOTHING = Cell("\N{EN DASH}")


def percent(part: int, whole: int, url: str = "") -> Cell:
    """Return a cell with a share and its fraction; a dash if `whole` is 0.

    Its parts in a CSV file are the two numbers of the fraction.
    """
    if not whole:
        return NOTHING._replace(parts=(part, whole))
    share = 100 * part / whole
    note = f"{part:,} of {whole:,}"
    return Cell(
        f"{rounded(share)}%",
        round(share, 4),
        url if part else "",
        note,
        parts=(part, whole),
        is_percent=True,
    )


# The parts of an estimate in a CSV file.
LIMITS = ("low", "high", "n")
# The fewest cases of a large figure, and of a filled dot.
FEWEST = 10
_MANY = 200  # from this n on, shares have one decimal


def share(estimate: Estimate, url: str = "", *, sign: str = "") -> Cell:
    """Return a cell with an estimated share in percent.

    With `sign` "+", it is a difference of two shares, in percentage points.
    """
    digits = 1 if estimate.n >= _MANY else 0
    return _estimated(estimate, 100, digits, url, sign=sign, unit=" points" if sign else "%")


def prominent(cell: Cell) -> Cell:
    """Return the cell of an estimate for a large figure: without its value below `FEWEST` cases."""
    n = cell.n
    if cell.value is None or not isinstance(n, int) or n >= FEWEST:
        return cell
    why = f"A figure needs {FEWEST} ratings or more. This one has {n:,}."
    return Cell(NOTHING.text, note=f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n:,}", why=why)


def figure(estimate: Estimate, url: str = "", *, digits: int = 2, sign: str = "") -> Cell:
    """Return a cell with an estimate that is not a share. With `sign` "+", it is a difference."""
    return _estimated(estimate, 1, digits, url, sign=sign)


def _estimated(estimate: Estimate, times: int, digits: int, url: str, *, sign: str, unit: str = "") -> Cell:
    value, low, high = (
        None if one is None else times * one for one in (estimate.value, estimate.low, estimate.high)
    )
    parts = (_rounded(low), _rounded(high), estimate.n)
    if value is None:
        return Cell(NOTHING.text, None, why=estimate.why, parts=parts, is_percent=times == 100)
    between = ""
    if low is not None and high is not None:
        between = f"{_formatted(low, digits, sign)} to {_formatted(high, digits, sign)}{unit}, "
    note = f"{between}n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{estimate.n:,}"
    text = f"{_formatted(value, digits, sign)}{unit}"
    return Cell(text, _rounded(value), url, note, why=estimate.why, parts=parts, is_percent=times == 100)


def _rounded(number: float | None) -> float | None:
    """Round a number for a CSV file. Texts are formatted from the number itself, so they are rounded once."""
    return None if number is None else round(number, 4)


def _formatted(number: float, digits: int, sign: str) -> str:
    """Format a number with a typographic minus, and without a sign if it rounds to 0.

    With `sign` "+", positive numbers have a sign, too.
    """
    text = rounded(abs(number), digits)
    if not text.strip("0."):
        return text
    return f"\N{MINUS SIGN}{text}" if number < 0 else f"{sign}{text}"


def as_csv(table: Table, file_name: str) -> StreamingHttpResponse:
    """Return the table as a CSV download (RFC 4180). Spreadsheets do not run its cells as formulas."""
    return download(_lines(table), file_name, content_type=CONTENT_TYPES[".csv"])


def _lines(table: Table) -> Iterator[bytes]:
    kept = [(place, column) for place, column in enumerate(table.columns) if not column.is_action]
    yield csv_row(name for _, column in kept for name in (column.name, column.notes, *column.parts) if name)
    for row in table.rows:
        yield csv_row(value for place, column in kept for value in _values(column, row[place]))


def _values(column: Column, cell: Cell) -> list[Value]:
    notes = [cell.note] if column.notes else []
    value, parts = cell.value, cell.parts or (None,) * len(column.parts)
    if cell.is_percent:
        value, parts = _as_share(value), (*map(_as_share, cell.limits), *parts[len(cell.limits) :])
    return [value, *notes, *(parts if column.parts else ())]


def _as_share(percentage: Value) -> Value:
    return round(percentage / 100, 6) if isinstance(percentage, int | float) else percentage
