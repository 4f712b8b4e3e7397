"""Matrices of the dashboard: overridden scores by reviewer and criterion, and agreement of pairs."""

from collections.abc import Sequence
from typing import NamedTuple

from django.urls import reverse

from reviews.dashboard import daily_counts, reviewer_pairs
from reviews.dashboard.daily_counts import CriterionOverrides
from reviews.dashboard.reviewer_activity import DEFINITIONS
from reviews.dashboard.reviewer_pairs import FEWEST_RECORDS, PairAgreement
from reviews.records.scores import criterion_title
from reviews.records.wording import rounded
from reviews.views.dashboard.filters import DashboardFilters
from reviews.views.dashboard.tables import overriding_url
from reviews.views.tables import FEWEST, Cell

# More rows or columns than these make a matrix dense, or its columns narrow.
_MOST_LINES = 12
# The lower ends of the shades, in percent.
_SHADES = (0, 10, 20, 40, 60)
_EMPTY = Cell("")


class Shaded(NamedTuple):
    cell: Cell
    #: From 1 for the palest; 0 for none.
    shade: int = 0


class MatrixRow(NamedTuple):
    """A row: its header, which may link to a page, and its cells."""

    header: Cell
    cells: list[Shaded]
    #: Whether the row sums up the others.
    is_total: bool = False


class Matrix(NamedTuple):
    #: The name in URLs.
    name: str
    title: str
    #: The definition of the figures.
    help: str
    #: The header of the first column.
    corner: str
    headers: Sequence[str]
    rows: list[MatrixRow]
    #: The sentence shown instead of a matrix without rows.
    empty: str
    #: A link for the next step without rows, and its text.
    step: tuple[str, str] = ("", "")

    @property
    def is_dense(self) -> bool:
        """Whether cells have one line, without their notes."""
        return len(self.rows) > _MOST_LINES or self.is_narrow

    @property
    def is_narrow(self) -> bool:
        """Whether the headers are upright and the cells have no unit, so that the matrix fits the page."""
        return len(self.headers) > _MOST_LINES


def overrides(scope: DashboardFilters) -> Matrix:
    """Build the matrix of overridden scores: a row for all reviewers, then one for each."""
    found = daily_counts.criterion_overrides_by_reviewer(scope.selection)
    names = sorted({one.criterion for one in found})
    by_reviewer: dict[str, dict[str, CriterionOverrides]] = {}
    people = {}
    for one in found:
        if one.reviewer:
            people[one.reviewer.username] = one.reviewer
            by_reviewer.setdefault(one.reviewer.username, {})[one.criterion] = one
    rows = []
    if found:
        total = [_overrides(_sum_of(name, found), scope) for name in names]
        rows.append(MatrixRow(Cell("All reviewers"), total, is_total=True))
    for username, theirs in by_reviewer.items():
        person = people[username]
        cells = [_overrides(theirs[name], scope) if name in theirs else Shaded(_EMPTY) for name in names]
        rows.append(MatrixRow(Cell(person.name, username, scope.activity(person)), cells))
    return Matrix(
        "criteria-by-reviewer",
        "Changed scores by reviewer and criterion",
        f"{DEFINITIONS['override_rate']} n is the number of the judge's scores on which reviewers decided.",
        "Reviewer",
        [criterion_title(name) for name in names],
        rows,
        f"No decisions with judge scores {scope.period_words}.",
    )


def _sum_of(name: str, found: list[CriterionOverrides]) -> CriterionOverrides:
    theirs = [one for one in found if one.criterion == name]
    return CriterionOverrides(name, sum(one.judged for one in theirs), sum(one.overridden for one in theirs))


def _overrides(overrides: CriterionOverrides, scope: DashboardFilters) -> Shaded:
    rate = _rate(overrides.overridden, overrides.judged)
    url = overriding_url(overrides, scope) if overrides.overridden else ""
    shade = sum(rate >= low for low in _SHADES) if overrides.judged >= FEWEST else 0
    return Shaded(Cell(f"{rate}%", rate, url, f"n\N{NO-BREAK SPACE}{overrides.judged:,}"), shade)


def _rate(part: int, whole: int) -> int:
    return int(rounded(100 * part / whole))


def agreement(scope: DashboardFilters) -> Matrix:
    """Build the matrix of pairs. Each pair is in it once, below the diagonal."""
    found = reviewer_pairs.pair_agreements(scope.selection)
    people = sorted({person.username: person for pair in found for person in (pair.one, pair.other)}.items())
    pairs = {(pair.one.username, pair.other.username): pair for pair in found}
    rows = []
    for place, (username, person) in enumerate(people):
        cells = [
            _pair(pairs.get((other, username)), scope) if column < place else Shaded(_EMPTY)
            for column, (other, _) in enumerate(people[:-1])
        ]
        if place:
            rows.append(MatrixRow(Cell(person.name, username, scope.activity(person)), cells))
    run = scope.selection.run
    return Matrix(
        "agreement",
        "Agreement between reviewers",
        reviewer_pairs.DEFINITION,
        "Reviewer",
        [person.name for _, person in people[:-1]],
        rows,
        f"No two reviewers scored the same record blind {scope.period_words}. To measure agreement, a run "
        "needs a share of independent reviews and a share of blind reviews.",
        (reverse("run-settings", args=[run.pk]), "Settings of the run")
        if run
        else (reverse("runs"), "Choose a run"),
    )


def _pair(pair: PairAgreement | None, scope: DashboardFilters) -> Shaded:
    if pair is None:
        return Shaded(_EMPTY)
    note = f"n\N{NO-BREAK SPACE}{pair.records:,}"
    if pair.records < FEWEST_RECORDS:
        return Shaded(Cell("", None, "", note))
    rate = _rate(pair.same, pair.scores)
    url = scope.address(reverse("decisions"), reviewer=pair.one.username, other=pair.other.username)
    # The less two people agree, the darker.
    shade = sum(100 - rate >= low for low in _SHADES)
    return Shaded(Cell(f"{rate}%", rate, url, note), shade)
