"""Shares with 95% intervals from ratings in clusters, such as the records of a task.

Every estimate follows from totals by cluster (see `extrapolation`), linearised (Taylor series). Its interval
describes further clusters of the same kind. Estimates of many shares are computed at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from reviews.statistics.intervals import Estimate, undefined, wilson_limits
from reviews.statistics.students_t import t_quantile, t_tail
from reviews.statistics.sums import BoolArray, FloatArray
from reviews.statistics.totals import ClusterTotals, Columns, columns_matrix

_NEGLIGIBLE = 1e-12
# The correlation of ratings in a cluster that is assumed, in addition to the observed one.
_LIKENESS = 0.75


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two shares of the same clusters."""

    #: The first share minus the second. `n` counts the ratings of both.
    difference: Estimate
    #: Two-sided, of a t-test over the clusters. 1 if the difference is undefined.
    p: float


class Spread(NamedTuple):
    """The variance of an estimate."""

    variance: float
    #: Degrees of freedom of the variance.
    df: float
    #: The number of clusters with ratings.
    clusters: int
    #: The effective number of ratings, given their weights (Kish 1965).
    ratings: float


class RatingVariance(NamedTuple):
    """The variance of a linearised estimate of one rating."""

    #: Of a rating like those of the sample.
    observed: float
    #: Of a rating that may be any.
    any: float


def ratio(totals: ClusterTotals, numerator: Columns, denominator: Columns) -> Estimate:
    """Estimate the share of one total in another: see `ratios`."""
    return ratios(totals, [(numerator, denominator)])[0]


def ratios(totals: ClusterTotals, shares: Sequence[tuple[Columns, Columns]]) -> list[Estimate]:
    """Estimate shares of a numerator in a denominator, from 0 to 1. `n` counts the denominator's ratings.

    Wilson's interval at the effective sample size, share x (1 - share) / variance, with the quantile of t
    (Korn & Graubard 1998, Survey Methodology 24:193; Dean & Pagano 2015, Journal of Survey Statistics and
    Methodology 3:484).
    """
    found = _shares(totals, [above for above, _ in shares], [below for _, below in shares])
    known = np.flatnonzero(found.is_known)
    spreads = spreads_of(totals, found.gradients[:, known], [found.below[:, known]])
    estimates = [undefined("There are no ratings to count.", int(n)) for n in found.n]
    for place, spread in zip(known, spreads, strict=True):
        share, n = float(found.values[place]), int(found.n[place])
        rating = RatingVariance(share * (1 - share), share**2 / 2 + (1 - share) ** 2 / 2)
        effective = effective_size(rating, spread, is_extrapolated=totals.is_extrapolated)
        low, high = wilson_limits(share, effective, t_quantile(spread.df))
        estimates[place] = Estimate(
            share, low, high, n, design_effect=n / effective, clusters=spread.clusters
        )
    return estimates


def difference(
    totals: ClusterTotals, first: tuple[Columns, Columns], second: tuple[Columns, Columns]
) -> Comparison:
    """Subtract two shares, each a pair of numerator and denominator, by a t-test over the clusters.

    As in Bonett & Price's interval of paired shares (2012, Journal of Educational and Behavioral Statistics
    37:479), the variance includes two more ratings, one in favour of each share, unless ratings of other
    cells show a variance.
    """
    found = _shares(totals, [first[0], second[0]], [first[1], second[1]])
    n = int(found.n[0] if first[1] == second[1] else found.n.sum())
    if not found.is_known.all():
        return Comparison(undefined("There are no ratings to compare.", n), 1.0)
    one, other = map(float, found.values)
    [spread] = spreads_of(
        totals,
        found.gradients[:, :1] - found.gradients[:, 1:],
        [found.below[:, :1]] if first[1] == second[1] else [found.below[:, :1], found.below[:, 1:]],
    )
    variance = spread.variance
    if not totals.is_extrapolated or variance < _NEGLIGIBLE:
        ratings = max(spread.df + 1, spread.ratings)
        more = ratings + 2
        variance = variance * (ratings / more) ** 2 + 2 / (more * (spread.df + 3))
    value, reach = one - other, t_quantile(spread.df) * sqrt(variance)
    estimate = Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), n, clusters=spread.clusters)
    return Comparison(estimate, t_tail(value / sqrt(variance), spread.df))


class _Shares(NamedTuple):
    """Shares, and their derivatives by the sums of the columns."""

    #: The number of ratings of each denominator. 0 if they represent no records.
    n: FloatArray
    is_known: BoolArray
    #: 0 for a share that is unknown.
    values: FloatArray
    #: K x shares.
    gradients: FloatArray
    #: K x shares: 1 in the columns of the denominator.
    below: FloatArray


def _shares(totals: ClusterTotals, numerators: Sequence[Columns], denominators: Sequence[Columns]) -> _Shares:
    columns = totals.rows.shape[1]
    above, below = (columns_matrix(columns, which) for which in (numerators, denominators))
    is_rated = totals.rated.sum(axis=0) @ below > 0
    n = np.where(is_rated & (totals.rows.sum(axis=0) @ below > _NEGLIGIBLE), totals.counts @ below, 0)
    whole = totals.sums @ below
    is_known = (n > 0) & (whole > 0)
    whole = np.where(is_known, whole, 1)
    values = np.where(is_known, totals.sums @ above / whole, 0)
    return _Shares(n, is_known, np.clip(values, 0, 1), (above - below * values) / whole, below)


def spread_of(totals: ClusterTotals, gradient: FloatArray, denominators: Sequence[Columns]) -> Spread:
    """Return the variance of a linearised estimate: see `spreads_of`."""
    columns = len(gradient)
    matrices = [columns_matrix(columns, [which]) for which in denominators]
    return spreads_of(totals, gradient[:, None], matrices)[0]


def spreads_of(
    totals: ClusterTotals, gradients: FloatArray, denominators: Sequence[FloatArray]
) -> list[Spread]:
    """Return the variances of linearised estimates: a column each of the gradients and the denominators.

    Residuals are scaled by the share of their cluster (CR2: Bell & McCaffrey 2002, Survey Methodology
    28:169).
    The degrees of freedom follow from the effective number of clusters with ratings (Kish 1965).
    """
    rows, rated = totals.rows.T, totals.rated.T
    below = [which.T @ rows for which in denominators]
    shares = np.clip(np.max([one / one.sum(axis=1, keepdims=True) for one in below], axis=0), 0, 0.5)
    variance = ((gradients.T @ rows) ** 2 / (1 - shares)).sum(axis=1)
    variance += (gradients * (totals.unseen @ gradients)).sum(axis=0)
    # If no rating contradicts the others, as if all errors were flagged, add up the columns separately.
    apart = totals.unseen.diagonal() @ gradients**2
    weights = [which.T @ rated for which in denominators]
    sums = [one.sum(axis=1) for one in weights]
    either = np.sum([one / whole[:, None] for one, whole in zip(weights, sums, strict=True)], axis=0)
    effective = either.sum(axis=1) ** 2 / (either**2).sum(axis=1)
    ratings = [whole**2 / (totals.squares @ which) for whole, which in zip(sums, denominators, strict=True)]
    return [
        Spread(*values)
        for values in zip(
            np.where(variance < _NEGLIGIBLE, apart, variance).tolist(),
            np.maximum(1.0, effective - 1).tolist(),
            np.count_nonzero(either, axis=1).tolist(),
            np.min(ratings, axis=0).tolist(),
            strict=True,
        )
    ]


def effective_size(rating: RatingVariance, spread: Spread, *, is_extrapolated: bool) -> float:
    """Return the number of independent ratings with the same variance.

    A few clusters can look alike by chance, so the variance includes one more cluster, whose ratings resemble
    each other. If the ratings do not vary, each cluster counts as one.
    """
    clusters = spread.df + 1
    if spread.variance < _NEGLIGIBLE * max(rating.observed, _NEGLIGIBLE):
        return clusters
    if rating.observed < _NEGLIGIBLE:
        # As if half a cluster were different.
        return max(1.0, min(clusters, rating.any * clusters / (clusters + 1) ** 2 / spread.variance))
    alike = _LIKENESS * max(0.0, 1 - clusters / spread.ratings) * rating.any / (clusters * spread.ratings)
    effective = rating.observed / (spread.variance + alike)
    return max(1.0, effective if is_extrapolated else min(effective, spread.ratings))
