"""Dot-and-whisker plots: estimates with their 95% intervals on one axis, drawn without a script."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from reviews.records.wording import rounded
from reviews.views.tables import FEWEST, Cell

_TICKS = 5  # labels of an axis
_MOST_UNFOLDED = 12


class Dot(NamedTuple):
    """An estimate, with its title and the records that it counts."""

    title: str
    #: The estimate of `tables.share` or `tables.figure`. `url` lists its records.
    cell: Cell
    #: An interval behind the estimate, in the unit of the axis.
    band: tuple[float, float] | None = None
    #: A second value without an interval, in the unit of the axis.
    other: float | None = None
    #: Whether the figure is assisted.
    is_assisted: bool = False
    #: The least number of cases for the purpose of the figure.
    fewest: int = FEWEST
    #: Whether the vertical line of the plot applies to the figure.
    has_line: bool = True

    @property
    def has_few(self) -> bool:
        """Whether the figure has too few cases for its purpose."""
        n = self.cell.n
        return isinstance(n, int) and n < self.fewest


class Span(NamedTuple):
    """An interval in the drawing, as SVG lengths."""

    start: str
    end: str
    width: str


class Row(NamedTuple):
    """A dot with its places in the drawing, as SVG lengths. Empty lengths are not drawn."""

    dot: Dot
    place: str
    whisker: Span | None
    band: Span | None
    other: str
    #: The band and the second value in words, for screen readers.
    spoken: str


class Tick(NamedTuple):
    """A label of the axis."""

    place: str
    text: str


class DotPlot(NamedTuple):
    """Estimates on one axis. Each row has its figures as text, so the drawing is decoration."""

    #: The name of the list for screen readers.
    title: str
    dots: Sequence[Dot]
    #: The ends of the axis, in the unit of the cells' values.
    low: float = 0
    high: float = 100
    unit: str = "%"
    #: The place of a vertical line: a target, or no difference.
    line: float | None = None
    line_title: str = ""
    band_title: str = ""
    other_title: str = ""

    @property
    def rows(self) -> list[Row]:
        return [self._row(dot) for dot in self.dots]

    @property
    def parts(self) -> list[list[Row]]:
        """The rows on the page and, if there are many, those that are folded."""
        rows = self.rows
        return [part for part in (rows[:_MOST_UNFOLDED], rows[_MOST_UNFOLDED:]) if part]

    @property
    def ticks(self) -> list[Tick]:
        step = (self.high - self.low) / (_TICKS - 1)
        values = [self.low + step * number for number in range(_TICKS)]
        return [Tick(self.place(value), self._text(value)) for value in values]

    @property
    def line_place(self) -> str:
        return "" if self.line is None else self.place(self.line)

    @property
    def has_assisted(self) -> bool:
        return any(dot.is_assisted for dot in self.dots)

    @property
    def has_few(self) -> bool:
        return any(dot.has_few for dot in self.dots)

    def place(self, value: float) -> str:
        """Return the place of a value on the axis. Values beyond its ends are at the end."""
        return f"{100 * self._share(value):.2f}%"

    def _row(self, dot: Dot) -> Row:
        value = dot.cell.value
        known = value if isinstance(value, int | float) else None
        limits = [limit for limit in dot.cell.limits if isinstance(limit, int | float)]
        spoken = [
            "assisted" if dot.is_assisted else "",
            "too few cases" if dot.has_few else "",
            f"{self.band_title}: {self._text(dot.band[0])} to {self._text(dot.band[1])}" if dot.band else "",
            f"{self.other_title}: {self._text(dot.other)}" if dot.other is not None else "",
        ]
        return Row(
            dot,
            "" if known is None else self.place(known),
            self._span(limits[0], limits[1]) if known is not None and len(limits) == 2 else None,
            self._span(*dot.band) if dot.band else None,
            "" if dot.other is None else self.place(dot.other),
            "; ".join(filter(None, spoken)),
        )

    def _span(self, low: float, high: float) -> Span:
        width = 100 * (self._share(high) - self._share(low))
        return Span(self.place(low), self.place(high), f"{width:.2f}%")

    def _share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def _text(self, value: float) -> str:
        text = rounded(value).replace("-", "\N{MINUS SIGN}")
        return f"{text}{self.unit}"


def difference_plot(title: str, dots: Sequence[Dot]) -> DotPlot:
    """Return a plot of differences in percentage points, with no difference in its middle."""
    parts = [part for dot in dots for part in (dot.cell.value, *dot.cell.limits)]
    largest = max((abs(part) for part in parts if isinstance(part, int | float)), default=0.0)
    reach = 10 * max(1, ceil(largest / 10))
    return DotPlot(title, dots, -reach, reach, unit="", line=0, line_title="no difference")
