"""Build confusion matrices with links to the records behind each cell."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.drilldown import ANY_SCORE, NO_SCORE, RatingFilter
from reviews.statistics.agreement import Category
from reviews.views.judge.filters import JudgeFilters
from reviews.views.tables import Cell, count

HELP = (
    "Which scores the judge confuses. Each number leads to its records.\n\n"
    "Rows are the judge's scores or verdicts, columns those of the reviewers. The numbers count ratings, so "
    "they are not weighted to the run."
)
#: From the score of the judge and that of people to the URL of the records.
Address = Callable[[str, str], str]


class Crossing(NamedTuple):
    """A cell of the matrix."""

    cell: Cell
    #: The cell's meaning for screen readers.
    label: str
    #: Its meaning in a sentence.
    title: str
    is_same: bool


class Line(NamedTuple):
    """A row of the matrix: one score of the judge."""

    score: str
    crossings: list[Crossing]
    total: int


class ConfusionTable(NamedTuple):
    title: str
    scores: list[str]
    lines: list[Line]
    totals: tuple[int, ...]
    n: int
    #: Counts of pairs that are not in the table, with the reason.
    excluded: list[tuple[str, Cell]]


def confusion_table(figures: AccuracyFigures, filters: JudgeFilters) -> ConfusionTable:
    """Build the matrix of one criterion, basis and part."""
    return matrix(figures, partial(_address, figures, filters))


def matrix(figures: AccuracyFigures, address: Address) -> ConfusionTable:
    """Build the matrix of figures, with the address of the records behind each cell."""
    table = figures.table
    lines = [
        Line(judge.label, _crossings(figures, address, judge, row), sum(row))
        for judge, row in zip(table.categories, table.counts, strict=True)
    ]
    return ConfusionTable(
        figures.title,
        [category.label for category in table.categories],
        lines,
        table.column_totals,
        table.n,
        _excluded(figures, address),
    )


def _crossings(
    figures: AccuracyFigures, address: Address, judge: Category, row: Iterable[int]
) -> list[Crossing]:
    found = []
    for human, reviews in zip(figures.table.categories, row, strict=True):
        is_one_score = judge.spelled and human.spelled
        url = address(judge.spelled, human.spelled) if is_one_score else ""
        label = f"judge {judge.label}, human {human.label}"
        title = f"Judge {judge.label}, reviewers {human.label}"
        found.append(Crossing(count(reviews, url), label, title, judge is human))
    return found


def _excluded(figures: AccuracyFigures, address: Address) -> list[tuple[str, Cell]]:
    removed = (
        "the reviewer came to no verdict"
        if figures.criterion is None
        else "the reviewer removed the criterion"
    )
    counted = [
        ("a score has no place in the table", figures.out_of_scale, ""),
        (removed, figures.judge_only, address(ANY_SCORE, NO_SCORE)),
        ("the judge gave no score", figures.human_only, address(NO_SCORE, ANY_SCORE)),
    ]
    return [(why, count(reviews, url)) for why, reviews, url in counted if reviews]


def _address(figures: AccuracyFigures, filters: JudgeFilters, judge: str, human: str) -> str:
    wanted = RatingFilter(
        criterion=figures.criterion or "",
        judge_said=judge,
        human_said=human,
        basis=figures.basis,
        part=figures.part,
    )
    return filters.address("judge-decisions", **wanted.parts)
