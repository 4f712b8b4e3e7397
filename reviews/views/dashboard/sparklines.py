"""Decisions per day of each reviewer as small bar charts on one scale, drawn without a script."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from reviews import days
from reviews.dashboard.daily_counts import day_figures
from reviews.models import User
from reviews.records.wording import per_day
from reviews.views.dashboard.filters import DashboardFilters

#: The width of a chart in its own units; a bar and its gap share it evenly.
WIDTH, HEIGHT = 240, 48
_FEWEST_DAYS = 14
_MOST_BARS = 62
_STEPS = (1, 7, 28)  # days of a bar


class Bar(NamedTuple):
    """A bar with its place in the drawing."""

    x: float
    y: float
    width: float
    height: float
    #: Its days and value.
    title: str


class Sparkline(NamedTuple):
    """The work of one reviewer, or of all."""

    #: None for all reviewers together.
    reviewer: User | None
    done: int
    #: Days with decisions.
    days: int
    bars: list[Bar]
    url: str

    @property
    def per_day(self) -> str:
        return per_day(self.done / self.days)


class SmallMultiples(NamedTuple):
    """The charts of a page."""

    first: dt.date
    last: dt.date
    #: Days of a bar.
    step: int
    #: The height of the charts, in decisions.
    most: int
    charts: list[Sparkline]
    empty: str

    @property
    def unit(self) -> str:
        return {1: "day", 7: "week"}.get(self.step, f"{self.step} days")


def small_multiples(scope: DashboardFilters) -> SmallMultiples:
    """Draw the decisions of each reviewer, by username, in the period or at least two weeks."""
    today = days.today()
    last = min(scope.selection.last or today, today)
    earliest = last - dt.timedelta(days=_FEWEST_DAYS - 1)
    start = scope.selection.first and min(scope.selection.first, earliest)
    found = day_figures(replace(scope.selection, first=start, last=last))
    first = start or dt.date.min
    if (last - first).days >= _MOST_BARS:
        first = min([earliest, *(one.day for one in found)])
    span = (last - first).days + 1
    step = next((step for step in _STEPS if span / step <= _MOST_BARS), -(-span // _MOST_BARS))
    # Bars end on the last day, so that the newest one is whole.
    bars = -(-span // step)
    by_reviewer: dict[User, list[int]] = {}
    days_worked: dict[User, int] = {}
    for one in sorted(found, key=lambda one: one.reviewer.username):
        counts = by_reviewer.setdefault(one.reviewer, [0] * bars)
        place = bars - 1 - (last - one.day).days // step
        if 0 <= place < bars:
            counts[place] += one.done
        days_worked[one.reviewer] = days_worked.get(one.reviewer, 0) + 1
    most = max((max(counts) for counts in by_reviewer.values()), default=0)
    charts = [
        Sparkline(
            person,
            sum(counts),
            days_worked[person],
            list(_bars(counts, most, last, step)),
            scope.activity(person),
        )
        for person, counts in by_reviewer.items()
        if sum(counts)
    ]
    return SmallMultiples(first, last, step, most, charts, f"No decisions {scope.period_words}.")


def _bars(counts: list[int], most: int, last: dt.date, step: int) -> Iterable[Bar]:
    width = WIDTH / len(counts)
    for place, done in enumerate(counts):
        if not done:
            continue
        end = last - dt.timedelta(days=(len(counts) - 1 - place) * step)
        begin = end - dt.timedelta(days=step - 1)
        days = end.isoformat() if step == 1 else f"{begin.isoformat()} to {end.isoformat()}"
        height = max(1.0, round(HEIGHT * done / most, 1))
        yield Bar(
            round(place * width, 2),
            round(HEIGHT - height, 1),
            round(width * 0.8, 2),
            height,
            f"{days}: {done:,}",
        )
