"""Coefficients of agreement between the judge and people, from clustered and possibly weighted ratings.

Shares have the intervals of `clusters`, and kappa and its relatives those of `posterior`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.records.scales import Level
from reviews.statistics import clusters, posterior
from reviews.statistics.agreement import Category
from reviews.statistics.balance import balance
from reviews.statistics.intervals import undefined
from reviews.statistics.posterior import Coefficient, PairShares
from reviews.statistics.sums import FloatArray
from reviews.statistics.totals import ClusterTotals, picked

# Definitions for pages, by the names of the functions below.
_CLUSTERED = "Interval: Wilson at the effective sample size of the tasks (Korn & Graubard 1998)."
_COMBINED = (
    f"{_CLUSTERED} That of the whole run follows from those of its flagged and its unflagged records (Donner "
    "& Zou 2012, Statistical Methods in Medical Research 21:347)."
)
_POSTERIOR = (
    "Interval: Dirichlet posterior at the effective sample size of the tasks, over the whole run one for its "
    "flagged and one for its unflagged records."
)
DEFINITIONS = {
    "accuracy": "How often the judge's verdict, or its score of a criterion, is the one that a reviewer "
    "gives without seeing it. It is high by itself if most records get the same verdict.\n\n"
    "Over the whole run, flagged and unflagged records count by their numbers, whoever was asked about more "
    "of them: clustered, stratified prediction-powered inference (Angelopoulos, Duchi & Zrnic 2023; Fisch et "
    f"al. 2024). {_CLUSTERED} That of the whole run follows from those of its flagged and its unflagged "
    "records (Zou & Donner 2008, Statistics in Medicine 27:1693).",
    "kappa": "How much better the judge agrees with reviewers than chance would. 1 is perfect, 0 is no "
    "better than chance.\n\n"
    "Cohen's kappa, where chance is two raters who give each score as often as these two did. It drops if "
    "nearly all records get the same score, however good the judge is. Cohen 1960, Educational and "
    f"Psychological Measurement 20:37. {_POSTERIOR}",
    "weighted_kappa": "Kappa for ordered scores: a near miss counts less than a far one. 1 is perfect, 0 is "
    "no better than chance.\n\n"
    "Cohen's kappa with linear weights: the closer two scores are, the more they count as agreement. Only "
    f"ranked scores count. Cohen 1968, Psychological Bulletin 70:213. {_POSTERIOR}",
    "ac1": "How much better the judge agrees with reviewers than chance would. Unlike kappa, it stays stable "
    "if nearly all records get the same score.\n\n"
    "Gwet's AC1, where only records that are hard to score are agreed on by chance. Gwet 2008, British "
    f"Journal of Mathematical and Statistical Psychology 61:29. {_POSTERIOR}",
    "defects_caught": "How often the judge fails what reviewers fail. It tells whether the judge finds "
    "defects, even if most records have none.\n\n"
    "The share of the reviewers' No scores (or Fail verdicts) to which the judge gave No (Fail), too: the "
    f"judge's recall of them. {_COMBINED}",
    "false_pass": "How often the judge passes what reviewers fail. These errors let bad responses through. "
    "\n\n"
    "The share of the reviewers' No scores (or Fail verdicts) to which the judge gave Yes (Pass). A Partial "
    f"by the judge does not count. {_COMBINED}",
    "false_fail": "How often the judge fails what reviewers pass. These errors reject good responses.\n\n"
    "The share of the reviewers' Yes scores (or Pass verdicts) to which the judge gave No (Fail). A Partial "
    f"by the judge does not count. {_COMBINED}",
    "leniency": "Whether the judge is milder or stricter than reviewers. Above 0 it is milder, below 0 "
    "stricter.\n\n"
    "The share of pairs in which the judge is milder, minus the share in which it is stricter, from -1 to 1. "
    "Interval: from Wilson's limits of both shares at the effective sample size of the tasks (Zou & Donner "
    "2008, Statistics in Medicine 27:1693).",
}

# The shares of a level of the human's scores that the judge scored with another, by name: human, judge.
_TAKEN_FOR: dict[str, tuple[Level, Level]] = {
    "defects_caught": ("no", "no"),
    "false_pass": ("no", "yes"),
    "false_fail": ("yes", "no"),
}
_NO_PAIRS = "There are no pairs of scores to compare."
_NO_ORDER = "The scores have no order."
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Confusion:
    """Totals of the pairs of scores: column `judge * len(categories) + human` of the totals."""

    #: All scores that could have been given.
    categories: tuple[Category, ...]
    totals: ClusterTotals
    #: The column of the first pair, if the totals have several domains.
    start: int = 0
    #: The same of flagged and of unflagged records, if these are the pairs of a whole run.
    strata: tuple["Confusion", ...] = ()

    @property
    def size(self) -> int:
        return len(self.categories)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.start, self.start + self.size**2))

    @property
    def n(self) -> int:
        """The number of ratings."""
        return self.count(self.columns)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each pair of scores: judge x human."""
        sums = np.maximum(0, self.totals.sums[list(self.columns)])
        shares: FloatArray = (sums / sums.sum() if sums.sum() > 0 else sums).reshape(self.size, self.size)
        return shares

    @cached_property
    def share_columns(self) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
        """The columns of numerator and denominator of each figure that is a share of pairs in others."""
        shares = {"accuracy": (self.where(lambda judge, human: judge is human), self.columns)}
        for name, (human, judge) in _TAKEN_FOR.items():
            shares[name] = self._of_levels(human, judge), self._of_levels(human)
        return shares

    @cached_property
    def ratios(self) -> dict[str, Estimate]:
        """These figures, computed at once. All but the accuracy have the intervals of their strata."""
        shares = self.share_columns
        found = dict(zip(shares, clusters.ratios(self.totals, [*shares.values()]), strict=True))
        if len(self.strata) > 1:
            sums = [_sums_of_strata(self.strata, name) for name in _TAKEN_FOR]
            wholes = [found[name] for name in _TAKEN_FOR]
            combined = clusters.combine_sums(wholes, self.strata[0].totals, sums)
            found |= dict(zip(_TAKEN_FOR, combined, strict=True))
        return found

    def where(self, matches: Callable[[Category, Category], bool]) -> tuple[int, ...]:
        """Return the columns of the pairs (judge, human) that match."""
        pairs = product(self.categories, self.categories)
        return tuple(column for column, pair in zip(self.columns, pairs, strict=True) if matches(*pair))

    def _of_levels(self, human: Level, judge: Level | None = None) -> tuple[int, ...]:
        """Return the columns of the pairs of scores with these levels. None is any level."""
        return self.where(lambda theirs, ours: ours.level == human and judge in {None, theirs.level})

    def pairs(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the columns of the pairs of these categories."""
        return tuple(self.start + judge * self.size + human for judge, human in product(places, places))

    def count(self, columns: Sequence[int]) -> int:
        """Return the number of ratings in some columns."""
        return int(self.totals.counts[list(columns)].sum())


def accuracy(confusion: Confusion) -> Estimate:
    """Estimate the share of ratings that equal the judge's score."""
    whole, strata = confusion.ratios["accuracy"], confusion.strata
    if not strata:
        return whole
    return clusters.combine_strata([whole], strata[0].totals, [_accuracy_shares(strata)])[0]


def stratified_accuracy(strata: Sequence[Confusion]) -> Estimate:
    """Estimate the accuracy over several strata, which have the same totals."""
    return clusters.stratified_ratios(strata[0].totals, [_accuracy_shares(strata)])[0]


def _accuracy_shares(strata: Sequence[Confusion]) -> list[clusters.Share]:
    return [one.share_columns["accuracy"] for one in strata]


def _sums_of_strata(
    strata: Sequence[Confusion], name: str
) -> tuple[list[clusters.Share], list[clusters.Share]]:
    """Return the numerator of a share, and the rest of its denominator, as shares of all pairs of strata."""
    above: list[clusters.Share] = []
    rest: list[clusters.Share] = []
    for one in strata:
        hits, cases = one.share_columns[name]
        above.append((hits, one.columns))
        rest.append((tuple(sorted({*cases} - {*hits})), one.columns))
    return above, rest


def false_pass(confusion: Confusion) -> Estimate:
    """Estimate the share of the human's No scores that the judge scored Yes. `n` counts the No scores."""
    return _share(confusion, "false_pass", "The human gave no score that counts as No.")


def defects_caught(confusion: Confusion) -> Estimate:
    """Estimate the share of the human's No scores that the judge scored No, too."""
    return _share(confusion, "defects_caught", "The human gave no score that counts as No.")


def false_fail(confusion: Confusion) -> Estimate:
    """Estimate the share of the human's Yes scores that the judge scored No. `n` counts the Yes scores."""
    return _share(confusion, "false_fail", "The human gave no score that counts as Yes.")


def _share(confusion: Confusion, name: str, why: str) -> Estimate:
    found = confusion.ratios[name]
    return found if found.value is not None else undefined(why)


def leniency(confusion: Confusion) -> Estimate:
    """Estimate the share of pairs in which the judge is milder minus the share in which it is stricter.

    `n` counts pairs of ranked scores.
    """
    ranked = confusion.pairs(_ranked(confusion))
    if not confusion.count(ranked):
        return undefined(_NO_ORDER if confusion.n else _NO_PAIRS, confusion.n)
    milder = confusion.where(_is_above)
    stricter = confusion.where(lambda judge, human: _is_above(human, judge))
    if picked(confusion.totals.sums, ranked) <= _NEGLIGIBLE:
        return undefined(_NO_PAIRS, confusion.n)
    return balance(confusion.totals, milder, stricter, ranked)


def _is_above(one: Category, other: Category) -> bool:
    return one.rank is not None and other.rank is not None and one.rank > other.rank


def _ranked(confusion: Confusion) -> list[int]:
    return [place for place, one in enumerate(confusion.categories) if one.rank is not None]


def kappa(confusion: Confusion) -> Estimate:
    """Cohen's kappa (1960). Undefined if either rater gave only one score."""
    places = range(confusion.size)
    equal = tuple(tuple(float(one == other) for other in places) for one in places)
    return _why_no_kappa(confusion, places) or _estimate(confusion, places, _kappa(equal))


def weighted_kappa(confusion: Confusion) -> Estimate:
    """Cohen's kappa with linear weights (1968), by the ranks of the scores."""
    places = _ranked(confusion)
    ranks = np.array([confusion.categories[place].rank or 0.0 for place in places])
    if len({*ranks}) < 2:
        return undefined(_NO_ORDER if confusion.n else _NO_PAIRS, confusion.n)
    weights = 1 - abs(ranks[:, None] - ranks) / np.ptp(ranks)
    undefined_kappa = _why_no_kappa(confusion, places)
    coefficient = _kappa(tuple(map(tuple, weights.tolist())))
    return undefined_kappa or _estimate(confusion, places, coefficient, is_skewed=True)


def ac1(confusion: Confusion) -> Estimate:
    """Gwet's AC1 (2008). The possible scores are the categories."""
    if not confusion.n:
        return undefined(_NO_PAIRS)
    if confusion.size < 2:
        return undefined("Only one score is possible.", confusion.n)
    return _estimate(confusion, range(confusion.size), _ac1)


def _why_no_kappa(confusion: Confusion, places: Sequence[int]) -> Estimate | None:
    """Return the reason why kappa is undefined, if it is."""
    n = confusion.count(confusion.pairs(places))
    if n < 2:
        return undefined(
            "There is only one pair of scores, too few to estimate chance." if n else _NO_PAIRS, n
        )
    counts = confusion.totals.counts[list(confusion.pairs(places))].reshape(len(places), -1)
    judge, human = (_only_score(confusion, places, counts.sum(axis=axis)) for axis in (1, 0))
    if judge is None and human is None:
        return None
    end = f" AC1 is {_value(confusion, range(confusion.size), _ac1):.2f}." if confusion.size > 1 else ""
    if judge == human:
        pairs = f"All {n:,} pairs are {judge} on both sides"
        return undefined(f"{pairs}: chance alone would agree, so kappa is undefined.{end}", n)
    who, score, other = ("human", human, "judge") if judge is None else ("judge", judge, "human")
    pairs = f"In all {n:,} pairs the {who} says {score}"
    return undefined(f"{pairs}, so kappa is undefined: it would be 0 whatever the {other} says.{end}", n)


def _only_score(confusion: Confusion, places: Sequence[int], counts: FloatArray) -> str | None:
    """Return the score that a rater gave every time, if there is one."""
    given = [confusion.categories[place].label for place, count in zip(places, counts, strict=True) if count]
    return given[0] if len(given) == 1 else None


@lru_cache(maxsize=100)
def _kappa(of_pairs: tuple[tuple[float, ...], ...]) -> Coefficient:
    """Return kappa with these weights: the same function for equal weights."""
    weights = np.array(of_pairs)

    def compute(shares: FloatArray) -> FloatArray:
        judge, human = shares.sum(axis=1), shares.sum(axis=0)
        agreed = np.tensordot(weights, shares, axes=2)
        return _beyond(agreed, ((weights.T @ judge) * human).sum(axis=0))

    return compute


def _ac1(shares: FloatArray) -> FloatArray:
    either = (shares.sum(axis=1) + shares.sum(axis=0)) / 2
    chance = (either * (1 - either)).sum(axis=0) / (len(shares) - 1)
    return _beyond(np.trace(shares), chance)


def _beyond(agreed: FloatArray, chance: FloatArray) -> FloatArray:
    return (agreed - chance) / np.maximum(_NEGLIGIBLE, 1 - chance)


def _value(confusion: Confusion, places: Sequence[int], compute: Coefficient) -> float:
    sums = np.maximum(0, confusion.totals.sums[list(confusion.pairs(places))])
    return float(compute((sums / sums.sum()).reshape(len(places), len(places))))


def _estimate(
    confusion: Confusion, places: Sequence[int], compute: Coefficient, *, is_skewed: bool = False
) -> Estimate:
    """Estimate a coefficient of some categories."""
    strata = [_shares_of_pairs(part, places) for part in confusion.strata]
    return posterior.estimate(_shares_of_pairs(confusion, places), strata, compute, is_skewed=is_skewed)


def _shares_of_pairs(confusion: Confusion, places: Sequence[int]) -> PairShares:
    columns, totals = confusion.pairs(places), confusion.totals
    return PairShares(totals, columns, confusion.count(columns), np.maximum(0, totals.sums[list(columns)]))
