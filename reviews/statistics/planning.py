"""Plan how many more ratings of each cell narrow an estimate to a target.

The estimate adds up the shares of wrong verdicts of cells, weighted by their records. Its variance is
deff x sum(W^2 S^2 / n), with the part W of the records in a cell, the standard deviation S = sqrt(p (1 - p))
of its ratings, and their number n (Cochran 1977, Sampling Techniques, chapter 5). The fewest ratings result
if n is proportional to W S (Neyman 1934, Journal of the Royal Statistical Society 97:558). Where few verdicts
are wrong, that is the active order of Zrnic & Candes 2024 (ICML), proportional to sqrt(P(wrong)).

The design effect deff grows with the ratings of a task: more ratings of the same tasks do not reduce the
variance between tasks (see `DesignEffect`).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from reviews.statistics.intervals import Z
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import Columns, FloatArray

# Each cell's share of errors counts as many ratings more, with the share of the cells like it.
_PRIOR = 10
# With so many other ratings of the task of a rating, half of the design effect grows with their number.
_FEW_NEIGHBOURS = 0.25
_STEPS = 100


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """The variance of an estimate as a multiple of that of independent ratings, now and with more ratings."""

    #: The multiple with the existing ratings.
    now: float
    #: The multiple of the variance that shrinks with more ratings.
    reduced: float
    #: The variance between tasks, which more ratings do not reduce.
    kept: float = 0.0


def design_effect(now: float, variance: float, neighbours: float, target: float) -> DesignEffect:
    """Divide a design effect into the part that grows with the ratings of a task, and the rest.

    `variance` is that of as many independent ratings, and `neighbours` the mean number of other ratings of
    the task of a rating. With few neighbours, tasks explain little of the design effect, and it is uncertain:
    the part that grows at most doubles the ratings that the target needs.
    """
    grows = neighbours / (neighbours + _FEW_NEIGHBOURS)
    kept = (now - 1) * grows * variance
    return DesignEffect(now, 1 + (now - 1) * (1 - grows), min(kept, _wanted(target) / 2))


@dataclass(frozen=True, eq=False, slots=True)
class PlanCells(Columns):
    """Cells of records, as columns of equal length."""

    #: Records of each cell.
    sizes: FloatArray
    #: Independent ratings that exist.
    rated: FloatArray
    #: Ratings that can exist: those that do, and the records that can still be rated.
    possible: FloatArray
    #: The expected standard deviation of a rating: see `deviations`.
    deviation: FloatArray

    @property
    def weights(self) -> FloatArray:
        """The part of each cell in all records."""
        return self.sizes / max(1.0, float(self.sizes.sum()))


def deviations(rated: FloatArray, wrong: FloatArray, group: IntArray) -> FloatArray:
    """Return the expected standard deviation of a rating of each cell, above 0.

    `rated` and `wrong` count its ratings. Cells of one group borrow from each other, and a group without
    ratings has even odds, which needs the most ratings.
    """
    of_group = np.bincount(group, rated, minlength=int(group.max(initial=-1)) + 1)
    wrong_of_group = np.bincount(group, wrong, minlength=len(of_group))
    expected = ((wrong_of_group + 1) / (of_group + 2))[group]
    rate = (wrong + _PRIOR * expected) / (rated + _PRIOR)
    return np.sqrt(rate * (1 - rate))


def half_width(cells: PlanCells, ratings: FloatArray, effect: DesignEffect) -> float | None:
    """Return half the width of the 95% interval with these numbers of ratings; None if a cell has none.

    The interval of a share is at most from 0 to 1.
    """
    if not len(ratings) or (ratings <= 0).any():
        return None
    return min(0.5, Z * sqrt(effect.reduced * _variance(cells, ratings) + effect.kept))


def _wanted(target: float) -> float:
    return (target / Z) ** 2


def _variance(cells: PlanCells, ratings: FloatArray) -> float:
    return float(((cells.weights * cells.deviation) ** 2 / ratings).sum())


def allocate(cells: PlanCells, target: float, effect: DesignEffect) -> IntArray:
    """Return how many more ratings of each cell narrow the interval to +-`target` with the fewest ratings.

    If that needs more ratings than are possible, all of them are returned. Cells without possible ratings are
    expected to be like the others.
    """
    usable = cells.possible > 0
    if not usable.all():
        more = np.zeros(len(usable), dtype=np.int64)
        more[usable] = allocate(cells.only(usable), target, effect)
        return more
    if not len(usable):
        return np.zeros(0, dtype=np.int64)
    variance = (_wanted(target) - effect.kept) / effect.reduced
    if _variance(cells, cells.possible) >= variance:
        return np.ceil(cells.possible - cells.rated).astype(np.int64)
    return _whole(_continuous(cells, variance) - cells.rated)


def _continuous(cells: PlanCells, variance: float) -> FloatArray:
    """Return the numbers of ratings, proportional to W S between the existing and the possible ones."""
    gain = cells.weights * cells.deviation
    # Less than one rating in a cell is enough if cells like it have ratings.
    least, most = np.maximum(cells.rated, 1e-9), cells.possible
    low, high = 0.0, float((most / gain).max())
    for _ in range(_STEPS):
        scale = (low + high) / 2
        is_enough = _variance(cells, np.clip(scale * gain, least, most)) <= variance
        low, high = (low, scale) if is_enough else (scale, high)
    return np.clip(high * gain, least, most)


def _whole(more: FloatArray) -> IntArray:
    """Round numbers so that their sums up to each place are rounded, and the whole sum is rounded up."""
    sums = np.cumsum(np.maximum(0, more))
    if not len(sums):
        return np.zeros(0, dtype=np.int64)
    rounded = np.floor(sums + 0.5 - 1e-6)
    rounded[-1] = np.ceil(sums[-1] - 1e-6)
    return np.diff(np.maximum.accumulate(rounded), prepend=0).astype(np.int64)
