"""How far the judge and a human agree, by counts of the pairs of scores they gave.

Each figure has an interval of 95 %, and a sentence instead of a value where it is undefined.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any

from reviews.records.verdict import Level
from reviews.statistics.intervals import Estimate, Z, undefined, wilson, wilson_limits

# What a figure is, where it is from, and what it does not say. By the names of the functions here.
DEFINITIONS = {
    "agreement": "The share of pairs in which the judge and the human gave the same score. It is high by "
    "itself where most records get the same score. Interval: Wilson 1927.",
    "kappa": "Agreement beyond what two people would reach by chance, who give each score as often as these "
    "two did: 1 is all of it, 0 none. It falls where nearly all records get one score, however good the "
    "judge. Cohen 1960, Educational and Psychological Measurement 20:37; interval: Fleiss, Cohen & Everitt "
    "1969, Psychological Bulletin 72:323.",
    "weighted_kappa": "Kappa for scores in an order: a neighbouring score counts as partly agreed, in "
    "proportion to the distance (linear weights). Only scores that have a place in the order count. Cohen "
    "1968, Psychological Bulletin 70:213; interval: Fleiss, Cohen & Everitt 1969.",
    "ac1": "Agreement beyond chance, as kappa, with another model of chance: only records that are hard to "
    "score are agreed on by chance. It stays stable where nearly all records get one score. Gwet 2008, "
    "British Journal of Mathematical and Statistical Psychology 61:29, also for the interval.",
    "false_pass": "Of the scores that count as No for the human, the share that the judge gave a Yes. A "
    "Partial of the judge is none of these. Interval: Wilson 1927.",
    "false_fail": "Of the scores that count as Yes for the human, the share that the judge gave a No. A "
    "Partial of the judge is none of these. Interval: Wilson 1927.",
    "leniency": "The share of pairs in which the judge is milder than the human, less the share in which it "
    "is stricter: 1 is always milder, -1 always stricter, 0 neither, or both as often. Interval: Bonett & "
    "Price 2012, Journal of Educational and Behavioral Statistics 37:479, for paired shares.",
}

_NO_PAIRS = "There are no pairs of scores to compare."
_NO_ORDER = "The scores stand in no order."
NEGLIGIBLE = 1e-12  # a variance below it comes of rounding


@dataclass(frozen=True, slots=True)
class Category:
    """A score that somebody may give. `level` is what it counts as by the rule of the run, if anything.

    A greater `rank` is better; a score without one stands in no order with the others. `spelled` is the score
    as JSON has it, of a verdict the word; empty for several scores together.
    """

    label: str
    level: Level | None = None
    rank: float | None = None
    spelled: str = ""


@dataclass(frozen=True)
class ConfusionMatrix:
    """How many records got which pair of scores: `counts[judge][human]`, both by the place in `categories`.

    These are all scores that could have been given, also those that nobody gave.
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
        """Each pair of scores, the judge's and the human's, and how often it occurs."""
        for judge, row in zip(self.categories, self.counts, strict=True):
            for human, count in zip(self.categories, row, strict=True):
                yield judge, human, count

    def ranked(self) -> "ConfusionMatrix":
        """The part of it that stands in an order."""
        places = [place for place, category in enumerate(self.categories) if category.rank is not None]
        if len(places) == len(self.categories):
            return self
        return ConfusionMatrix(
            tuple(self.categories[place] for place in places),
            tuple(tuple(self.counts[judge][human] for human in places) for judge in places),
        )

    def as_json(self) -> dict[str, Any]:
        """Rows are the judge's scores, columns the human's."""
        return {"scores": [category.label for category in self.categories], "judge_by_human": self.counts}


def agreement(table: ConfusionMatrix) -> Estimate:
    """See `DEFINITIONS`."""
    return wilson(_agreed(table), table.n, "pairs of scores")


def _agreed(table: ConfusionMatrix) -> int:
    return sum(row[place] for place, row in enumerate(table.counts))


def kappa(table: ConfusionMatrix) -> Estimate:
    """Cohen's kappa. Undefined where either side gave one score only."""
    why = _why_no_kappa(table)
    if why:
        return undefined(why, table.n)
    size = len(table.categories)
    return _weighted(table, [[float(i == j) for j in range(size)] for i in range(size)])


def weighted_kappa(table: ConfusionMatrix) -> Estimate:
    """Cohen's kappa with linear weights, by the ranks of the scores."""
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
        return "There is only one pair of scores, which tells nothing of chance." if table.n else _NO_PAIRS
    judge, human = _only_score(table, table.row_totals), _only_score(table, table.column_totals)
    if judge is None and human is None:
        return ""
    end = f" AC1 is {ac1(table).value:.2f}." if len(table.categories) > 1 else ""
    if judge == human:
        pairs = f"All {table.n:,} pairs are {judge} on both sides"
        return f"{pairs}: chance alone would agree too, so kappa is undefined.{end}"
    who, score, other = ("human", human, "judge") if judge is None else ("judge", judge, "human")
    pairs = f"In all {table.n:,} pairs the {who} says {score}"
    return f"{pairs}, so kappa would be 0 whatever the {other} says: it is undefined.{end}"


def _only_score(table: ConfusionMatrix, totals: Sequence[int]) -> str | None:
    """The score that one side gave each time, if it did."""
    return next(
        (one.label for one, count in zip(table.categories, totals, strict=True) if count == table.n), None
    )


def _weighted(table: ConfusionMatrix, weights: list[list[float]]) -> Estimate:
    """Kappa where a pair counts as agreed by its weight; of the same score it is 1.

    The variance is from Fleiss, Cohen & Everitt 1969.
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
    """Gwet's AC1; the scores that could have been given are the table's."""
    n, size = table.n, len(table.categories)
    if not n:
        return undefined(_NO_PAIRS)
    if size < 2:
        return undefined("There is only one score that could have been given.", n)
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
    """What is agreed on of what chance does not explain, and its interval by a variance.

    Where the variance is 0, as when all agree, or unknown, an interval of no width would promise too much:
    there it is what the coefficient would be at the limits of the agreement (Wilson), chance being as it is.
    """
    value = (agreed - chance) / (1 - chance)
    if variance is None or variance < NEGLIGIBLE:
        low, high = ((limit - chance) / (1 - chance) for limit in wilson_limits(min(1.0, agreed), n))
    else:
        low, high = value - Z * sqrt(variance), value + Z * sqrt(variance)
    return Estimate(value, min(value, max(-1.0, low)), max(value, min(1.0, high)), n)


def false_pass(table: ConfusionMatrix) -> Estimate:
    """See `DEFINITIONS`; `n` is the number of scores that count as No for the human."""
    return _taken_for(
        table, "no", "yes", "The human gave no score that counts as No, so none can pass falsely."
    )


def false_fail(table: ConfusionMatrix) -> Estimate:
    """See `DEFINITIONS`; `n` is the number of scores that count as Yes for the human."""
    return _taken_for(
        table, "yes", "no", "The human gave no score that counts as Yes, so none can fail falsely."
    )


def _taken_for(table: ConfusionMatrix, human: Level, judge: Level, why: str) -> Estimate:
    """Of the human's scores of a level, the share that the judge gave another level."""
    rows = [(theirs.level, count) for theirs, ours, count in table.cells() if ours.level == human]
    n = sum(count for _, count in rows)
    return wilson(sum(count for level, count in rows if level == judge), n) if n else undefined(why)


def leniency(table: ConfusionMatrix) -> Estimate:
    """See `DEFINITIONS`; `n` counts pairs of scores that stand in an order."""
    ordered = table.ranked()
    n = ordered.n
    if not n:
        return undefined(_NO_ORDER if table.n else _NO_PAIRS, table.n)
    milder = stricter = 0
    for judge, human, count in ordered.cells():
        milder += count * ((judge.rank or 0) > (human.rank or 0))
        stricter += count * ((judge.rank or 0) < (human.rank or 0))
    up, down = (milder + 1) / (n + 2), (stricter + 1) / (n + 2)
    reach = Z * sqrt((up + down - (up - down) ** 2) / (n + 2))
    return Estimate((milder - stricter) / n, max(-1.0, up - down - reach), min(1.0, up - down + reach), n)
