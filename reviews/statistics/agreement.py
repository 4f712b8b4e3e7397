"""Coefficients of agreement between two raters, the judge and a human, from a confusion matrix.

Every figure has a 95% interval, or a sentence that says why it is undefined.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any

from reviews.records.scales import Level
from reviews.statistics.intervals import Estimate, Z, undefined, wilson, wilson_limits

# Definitions for pages, by the names of the functions below.
DEFINITIONS = {
    "agreement": "The share of pairs in which the judge and the human gave the same score. It is high by "
    "itself if most records get the same score. Interval: Wilson 1927.",
    "kappa": "Cohen's kappa: agreement beyond chance, where chance is two raters who give each score as "
    "often as these two did. 1 is perfect agreement, 0 is chance. It drops if nearly all records get the "
    "same score, however good the judge is. Cohen 1960, Educational and Psychological Measurement 20:37; "
    "interval: Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72:323.",
    "weighted_kappa": "Kappa for ordered scores: the closer two scores are, the more they count as "
    "agreement (linear weights). Only ranked scores count. Cohen 1968, Psychological Bulletin 70:213; "
    "interval: Fleiss, Cohen & Everitt 1969.",
    "ac1": "Gwet's AC1: agreement beyond chance, where only records that are hard to score are agreed on by "
    "chance. It stays stable if nearly all records get the same score. Gwet 2008, British Journal of "
    "Mathematical and Statistical Psychology 61:29, also for the interval.",
    "false_pass": "The share of the human's No scores that the judge scored Yes. A Partial by the judge "
    "does not count. Interval: Wilson 1927.",
    "false_fail": "The share of the human's Yes scores that the judge scored No. A Partial by the judge "
    "does not count. Interval: Wilson 1927.",
    "leniency": "The share of pairs in which the judge is more lenient than the human, minus the share in "
    "which the judge is stricter: 1 is always more lenient, -1 always stricter. Interval: Bonett & Price "
    "2012, Journal of Educational and Behavioral Statistics 37:479, for paired proportions.",
}

_NO_PAIRS = "There are no pairs of scores to compare."
_NO_ORDER = "The scores have no order."
NEGLIGIBLE = 1e-12  # a smaller variance is rounding noise


@dataclass(frozen=True, slots=True)
class Category:
    """A score that a rater may give."""

    label: str
    #: The level of the score by the run's verdict rule, if any.
    level: Level | None = None
    #: A higher rank is better. None if the score has no place in an order.
    rank: float | None = None
    #: The score as JSON text, a verdict as is. Empty for a category of several scores.
    spelled: str = ""


@dataclass(frozen=True)
class ConfusionMatrix:
    """The number of records with each pair of scores.

    `counts[judge][human]` is indexed by position in `categories`, which are all scores that could have been
    given, including those that nobody gave.
    """

    categories: tuple[Category, ...]
    counts: tuple[tuple[int, ...], ...]

    @cached_property
    def n(self) -> int:
        return sum(self.row_totals)

    @cached_property
    def row_totals(self) -> tuple[int, ...]:
        """How often the judge gave each score."""
        return tuple(sum(row) for row in self.counts)

    @cached_property
    def column_totals(self) -> tuple[int, ...]:
        """How often the human gave each score."""
        return tuple(sum(column) for column in zip(*self.counts, strict=True))

    def cells(self) -> Iterable[tuple[Category, Category, int]]:
        """Yield each pair of the judge's and the human's score with its count."""
        for judge, row in zip(self.categories, self.counts, strict=True):
            for human, count in zip(self.categories, row, strict=True):
                yield judge, human, count

    def ranked(self) -> "ConfusionMatrix":
        """Return the matrix of the categories that have a rank."""
        places = [place for place, category in enumerate(self.categories) if category.rank is not None]
        if len(places) == len(self.categories):
            return self
        return ConfusionMatrix(
            tuple(self.categories[place] for place in places),
            tuple(tuple(self.counts[judge][human] for human in places) for judge in places),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the matrix. Rows are the judge's scores, columns the human's."""
        return {"scores": [category.label for category in self.categories], "judge_by_human": self.counts}


def agreement(table: ConfusionMatrix) -> Estimate:
    """The share of pairs with the same score. Interval: Wilson 1927."""
    return wilson(_agreed(table), table.n, "pairs of scores")


def _agreed(table: ConfusionMatrix) -> int:
    return sum(row[place] for place, row in enumerate(table.counts))


def kappa(table: ConfusionMatrix) -> Estimate:
    """Cohen's kappa (1960). Undefined if either rater gave only one score."""
    why = _why_no_kappa(table)
    if why:
        return undefined(why, table.n)
    size = len(table.categories)
    return _weighted(table, [[float(i == j) for j in range(size)] for i in range(size)])


def weighted_kappa(table: ConfusionMatrix) -> Estimate:
    """Cohen's kappa with linear weights (1968), by the ranks of the scores."""
    ordered = table.ranked()
    ranks = [category.rank or 0.0 for category in ordered.categories]
    if len({*ranks}) < 2:
        return undefined(_NO_ORDER if table.n else _NO_PAIRS, table.n)
    why = _why_no_kappa(ordered)
    if why:
        return undefined(why, ordered.n)
    widest = max(ranks) - min(ranks)
    return _weighted(ordered, [[1 - abs(one - other) / widest for other in ranks] for one in ranks])


def _why_no_kappa(table: ConfusionMatrix) -> str:
    if table.n < 2:
        return "There is only one pair of scores, too few to estimate chance." if table.n else _NO_PAIRS
    judge, human = _only_score(table, table.row_totals), _only_score(table, table.column_totals)
    if judge is None and human is None:
        return ""
    end = f" AC1 is {ac1(table).value:.2f}." if len(table.categories) > 1 else ""
    if judge == human:
        pairs = f"All {table.n:,} pairs are {judge} on both sides"
        return f"{pairs}: chance alone would agree, so kappa is undefined.{end}"
    who, score, other = ("human", human, "judge") if judge is None else ("judge", judge, "human")
    pairs = f"In all {table.n:,} pairs the {who} says {score}"
    return f"{pairs}, so kappa is undefined: it would be 0 whatever the {other} says.{end}"


def _only_score(table: ConfusionMatrix, totals: Sequence[int]) -> str | None:
    """Return the score that a rater gave every time, if there is one."""
    return next(
        (one.label for one, count in zip(table.categories, totals, strict=True) if count == table.n), None
    )


def _weighted(table: ConfusionMatrix, weights: list[list[float]]) -> Estimate:
    """Kappa with weights of agreement from 0 to 1. The weight of equal scores is 1.

    Variance: Fleiss, Cohen & Everitt 1969.
    """
    n, places = table.n, range(len(table.categories))
    rows = [count / n for count in table.row_totals]
    columns = [count / n for count in table.column_totals]
    pairs = [(i, j, table.counts[i][j] / n) for i, j in product(places, places) if table.counts[i][j]]
    of_row = [sum(weight * share for weight, share in zip(weights[i], columns, strict=True)) for i in places]
    of_column = [sum(weights[i][j] * rows[i] for i in places) for j in places]
    agreed = sum(weights[i][j] * share for i, j, share in pairs)
    chance = sum(share * expected for share, expected in zip(rows, of_row, strict=True))
    squares = sum(
        share * (weights[i][j] * (1 - chance) - (of_row[i] + of_column[j]) * (1 - agreed)) ** 2
        for i, j, share in pairs
    )
    variance = (squares - (agreed * chance - 2 * chance + agreed) ** 2) / (n * (1 - chance) ** 4)
    return chance_corrected(agreed, chance, n, variance)


def ac1(table: ConfusionMatrix) -> Estimate:
    """Gwet's AC1 (2008). The possible scores are those of the matrix."""
    n, size = table.n, len(table.categories)
    if not n:
        return undefined(_NO_PAIRS)
    if size < 2:
        return undefined("Only one score is possible.", n)
    shares = [(a + b) / (2 * n) for a, b in zip(table.row_totals, table.column_totals, strict=True)]
    agreed = _agreed(table) / n
    chance = sum(share * (1 - share) for share in shares) / (size - 1)
    left = (1 - agreed) / (1 - chance)  # 1 - AC1
    on_diagonal = sum(table.counts[i][i] / n * (1 - shares[i]) for i in range(size)) / (size - 1)
    squares = (
        sum(
            table.counts[i][j] / n * (1 - (shares[i] + shares[j]) / 2) ** 2
            for i, j in product(range(size), range(size))
        )
        / (size - 1) ** 2
    )
    variance = (
        agreed * (1 - agreed)
        - 4 * left * (on_diagonal - agreed * chance)
        + 4 * left**2 * (squares - chance**2)
    ) / (n * (1 - chance) ** 2)
    return chance_corrected(agreed, chance, n, variance)


def chance_corrected(agreed: float, chance: float, n: int, variance: float | None) -> Estimate:
    """Correct the observed agreement for chance, and compute the interval from a variance.

    If the variance is 0 or unknown, the interval is that of the coefficient at the Wilson limits of the
    agreement, with chance fixed: an interval of zero width would promise too much.
    """
    value = (agreed - chance) / (1 - chance)
    if variance is None or variance < NEGLIGIBLE:
        low, high = ((limit - chance) / (1 - chance) for limit in wilson_limits(min(1.0, agreed), n))
    else:
        low, high = value - Z * sqrt(variance), value + Z * sqrt(variance)
    return Estimate(value, min(value, max(-1.0, low)), max(value, min(1.0, high)), n)


def false_pass(table: ConfusionMatrix) -> Estimate:
    """The share of the human's No scores that the judge scored Yes. `n` counts the human's No scores."""
    return _taken_for(table, "no", "yes", "The human gave no score that counts as No.")


def false_fail(table: ConfusionMatrix) -> Estimate:
    """The share of the human's Yes scores that the judge scored No. `n` counts the human's Yes scores."""
    return _taken_for(table, "yes", "no", "The human gave no score that counts as Yes.")


def _taken_for(table: ConfusionMatrix, human: Level, judge: Level, why: str) -> Estimate:
    """The share of the human's scores of one level that the judge gave another level."""
    rows = [(theirs.level, count) for theirs, ours, count in table.cells() if ours.level == human]
    n = sum(count for _, count in rows)
    return wilson(sum(count for level, count in rows if level == judge), n) if n else undefined(why)


def leniency(table: ConfusionMatrix) -> Estimate:
    """The share of pairs in which the judge is more lenient, minus the share in which the judge is stricter.

    Interval: Bonett & Price 2012. `n` counts pairs of ranked scores.
    """
    ordered = table.ranked()
    n = ordered.n
    if not n:
        return undefined(_NO_ORDER if table.n else _NO_PAIRS, table.n)
    more_lenient = stricter = 0
    for judge, human, count in ordered.cells():
        more_lenient += count * ((judge.rank or 0) > (human.rank or 0))
        stricter += count * ((judge.rank or 0) < (human.rank or 0))
    up, down = (more_lenient + 1) / (n + 2), (stricter + 1) / (n + 2)
    reach = Z * sqrt((up + down - (up - down) ** 2) / (n + 2))
    return Estimate(
        (more_lenient - stricter) / n, max(-1.0, up - down - reach), min(1.0, up - down + reach), n
    )
