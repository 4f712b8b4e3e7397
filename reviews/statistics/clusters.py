"""Shares with 95% intervals from ratings in clusters, such as the records of a task.

Every estimate follows from totals by cluster (see `extrapolation`), linearised (Taylor series). Its interval
describes further clusters of the same kind. Estimates of many shares are computed at once.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from math import sqrt
from typing import NamedTuple

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.intervals import Squares, least_ratio, undefined, wilson_limits, with_two_more
from reviews.statistics.students_t import t_quantile, t_tail
from reviews.statistics.sums import BoolArray, FloatArray
from reviews.statistics.totals import ClusterTotals, Columns, columns_matrix, picked, weighted_sum

# The columns of a numerator and of its denominator.
Share = tuple[Columns, Columns]

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


def ratios(totals: ClusterTotals, shares: Sequence[Share]) -> list[Estimate]:
    """Estimate shares of a numerator in a denominator, from 0 to 1. `n` counts the denominator's ratings.

    Wilson's interval at the effective sample size, share x (1 - share) / variance, with the quantile of t
    (Korn & Graubard 1998, Survey Methodology 24:193; Dean & Pagano 2015, Journal of Survey Statistics and
    Methodology 3:484).
    """
    return _ratios(totals, shares).estimates


def _ratios(totals: ClusterTotals, shares: Sequence[Share]) -> "_Ratios":
    found = _shares(totals, shares)
    known = [place for place, is_known in enumerate(found.is_known) if is_known]
    linearised = found.linearised(known)
    below = [_denominator(totals, shares[place][1]) for place in known]
    estimates = [undefined("There are no ratings to count.", int(n)) for n in found.n]
    for place, spread in zip(known, _spreads(totals.unseen, linearised, below), strict=True):
        share, n = float(found.values[place]), int(found.n[place])
        rating = RatingVariance(share * (1 - share), share**2 / 2 + (1 - share) ** 2 / 2)
        effective = effective_size(rating, spread, is_extrapolated=totals.is_extrapolated)
        low, high = wilson_limits(share, effective, t_quantile(spread.df))
        estimates[place] = Estimate(
            share, low, high, n, design_effect=n / effective, clusters=spread.clusters
        )
    return _Ratios(estimates, known, found.wholes, linearised)


def stratified_ratios(totals: ClusterTotals, strata: Sequence[Sequence[Share]]) -> list[Estimate]:
    """Estimate shares of several strata together, such as flagged and unflagged records.

    Each is given by its share in every stratum, in other columns: see `combine_strata`.
    """
    wholes = ratios(totals, [(_joined(shares, 0), _joined(shares, 1)) for shares in strata])
    return combine_strata(wholes, totals, strata)


def _joined(shares: Sequence[Share], side: int) -> tuple[int, ...]:
    """Return the columns of the numerators (0) or denominators (1) of shares."""
    columns = (share[side] for share in shares)
    return tuple(chain.from_iterable((one,) if isinstance(one, int) else one for one in columns))


def combine_strata(
    wholes: Sequence[Estimate], totals: ClusterTotals, strata: Sequence[Sequence[Share]]
) -> list[Estimate]:
    """Return estimates with the intervals that follow from those of their strata.

    MOVER: Zou & Donner 2008, Statistics in Medicine 27:1693. Few ratings of a stratum may be the same by
    chance, so their variance tells too little.
    """
    # A single stratum is the whole.
    several = [shares if len(shares) > 1 else () for shares in strata]
    parts = _ratios(totals, [share for shares in several for share in shares])
    found, end = [], 0
    for whole, shares in zip(wholes, several, strict=True):
        start, end = end, end + len(shares)
        rows = parts.rows(start, end)
        if whole.value is not None and rows.stop - rows.start > 1:
            low, high = _limits(whole.value, parts, rows, _correlation(totals, parts, rows))
            found.append(replace(whole, low=low, high=high))
        else:
            found.append(whole)
    return found


def combine_sums(
    wholes: Sequence[Estimate], totals: ClusterTotals, sums: Sequence[Sequence[Sequence[Share]]]
) -> list[Estimate]:
    """Return shares of one sum over strata in a larger one, with the intervals that follow from the strata.

    Each is given by two lists of shares: those whose totals add up to its numerator, and those that add up to
    the rest of its denominator. Its interval stays if a stratum is without ratings, and never gets narrower.
    """
    parts = _ratios(totals, [share for sides in sums for shares in sides for share in shares])
    found, end = [*wholes], 0
    for place, (whole, (above, rest)) in enumerate(zip(wholes, sums, strict=True)):
        start, end = end, end + len(above) + len(rest)
        rows = parts.rows(start, end)
        if whole.value is not None and rows.stop - rows.start == end - start:
            low, high = _odds_limits(parts, rows, len(above), _correlation(totals, parts, rows))
            # The linearised limits allow for other numbers of flagged records in further tasks.
            found[place] = replace(whole, low=min(whole.low or 0, low), high=max(whole.high or 0, high))
    return found


def difference(totals: ClusterTotals, first: Share, second: Share, *, largest: float = 1.0) -> Comparison:
    """Subtract two shares by a t-test over the clusters: see `differences`."""
    return differences(totals, [(first, second)], largest=largest)[0]


def differences(
    totals: ClusterTotals, pairs: Sequence[tuple[Share, Share]], *, largest: float = 1.0
) -> list[Comparison]:
    """Subtract the second share of each pair from the first, by t-tests over the clusters.

    As in Bonett & Price's interval of paired shares (2012, Journal of Educational and Behavioral Statistics
    37:479), the variance includes two more ratings, one in favour of each share, unless ratings of other
    cells show a variance. `largest` is how much a rating can add to one share more than to the other, or the
    most that one adds if the shares are means of numbers.
    """
    one, other = (_shares(totals, [pair[side] for pair in pairs]) for side in (0, 1))
    known = [place for place, is_known in enumerate(one.is_known & other.is_known) if is_known]
    below = [_denominator(totals, pairs[place][0][1], pairs[place][1][1]) for place in known]
    spreads = _spreads(totals.unseen, one.linearised(known).minus(other.linearised(known)), below)
    n = one.n + np.where([first[1] == second[1] for first, second in pairs], 0, other.n)
    found = [Comparison(undefined("There are no ratings to compare.", int(each)), 1.0) for each in n]
    for place, spread in zip(known, spreads, strict=True):
        value = float(one.values[place] - other.values[place])
        found[place] = compared(totals, value, int(n[place]), spread, largest=largest)
    return found


def compared(
    totals: ClusterTotals, value: float, n: int, spread: Spread, *, most: float = 1.0, largest: float = 1.0
) -> Comparison:
    """Return a difference from `-most` to `most`, of so many pairs of shares, with its t-test.

    For `largest`, see `differences`.
    """
    variance = spread.variance
    if not totals.is_extrapolated or variance < _NEGLIGIBLE:
        ratings = max(spread.df + 1, spread.ratings)
        variance = with_two_more(variance, ratings, spread.df, most * largest**2)
    reach = t_quantile(spread.df) * sqrt(variance)
    estimate = Estimate(
        value, max(-most, value - reach), min(most, value + reach), n, clusters=spread.clusters
    )
    return Comparison(estimate, t_tail(value / sqrt(variance), spread.df))


class _Linearised(NamedTuple):
    """Linearised estimates."""

    #: K x estimates: their derivatives by the sums of the columns.
    gradients: FloatArray
    #: Estimates x T: the part of each cluster.
    by_cluster: FloatArray

    def minus(self, other: "_Linearised") -> "_Linearised":
        return _Linearised(self.gradients - other.gradients, self.by_cluster - other.by_cluster)


def _linearised(totals: ClusterTotals, gradients: FloatArray) -> _Linearised:
    by_cluster = np.empty((gradients.shape[1], len(totals.rows)))
    # One after the other, because the columns of an estimate fit into the processor's cache.
    for place, gradient in enumerate(np.ascontiguousarray(gradients.T)):
        by_cluster[place] = weighted_sum(totals.rows.T, gradient)
    return _Linearised(gradients, by_cluster)


class _Shares(NamedTuple):
    """Shares of a numerator in a denominator."""

    totals: ClusterTotals
    shares: Sequence[Share]
    #: The number of ratings of each denominator. 0 if they represent no records.
    n: FloatArray
    is_known: BoolArray
    #: 0 for a share that is unknown.
    values: FloatArray
    #: The sums of the denominators, or 1.
    wholes: FloatArray

    def linearised(self, known: Sequence[int]) -> _Linearised:
        """Linearise the shares in some places."""
        sides = ([self.shares[place][side] for place in known] for side in (0, 1))
        above, below = (columns_matrix(self.totals.rows.shape[1], side) for side in sides)
        return _linearised(self.totals, (above - below * self.values[known]) / self.wholes[known])


def _shares(totals: ClusterTotals, shares: Sequence[Share]) -> _Shares:
    columns = totals.rows.shape[1]
    above, below = (columns_matrix(columns, [share[side] for share in shares]) for side in (0, 1))
    is_rated = (totals.squares @ below > 0) & (totals.rows.sum(axis=0) @ below > _NEGLIGIBLE)
    n = np.where(is_rated, totals.counts @ below, 0)
    wholes = totals.sums @ below
    is_known = (n > 0) & (wholes > 0)
    wholes = np.where(is_known, wholes, 1)
    values = np.where(is_known, totals.sums @ above / wholes, 0)
    return _Shares(totals, shares, n, is_known, np.clip(values, 0, 1), wholes)


class _Denominator(NamedTuple):
    """The parts of a variance that follow from the denominators of an estimate."""

    #: The divisor of each cluster's squared residual.
    divisor: FloatArray
    #: See `Spread`.
    df: float
    clusters: int
    ratings: float


class _Ratios(NamedTuple):
    """Shares with their intervals, and what these follow from."""

    estimates: list[Estimate]
    #: The places of the known shares: the other members have a row for each.
    known: list[int]
    #: The sum of the denominator, by place.
    wholes: FloatArray
    linearised: _Linearised

    def rows(self, start: int, end: int) -> slice:
        """Return the rows of the known shares in a range of places."""
        return slice(bisect_left(self.known, start), bisect_left(self.known, end))


def _correlation(totals: ClusterTotals, parts: _Ratios, rows: slice) -> FloatArray:
    by_cluster, gradients = parts.linearised.by_cluster[rows], parts.linearised.gradients[:, rows]
    covariance = by_cluster @ by_cluster.T + gradients.T @ totals.unseen @ gradients
    deviation = np.sqrt(np.maximum(_NEGLIGIBLE, covariance.diagonal()))
    correlation: FloatArray = covariance / np.outer(deviation, deviation)
    np.fill_diagonal(correlation, 1)
    return correlation


def _limits(value: float, parts: _Ratios, rows: slice, correlation: FloatArray) -> tuple[float, float]:
    """Return the limits of a weighted sum of shares, given those of the shares."""
    places = parts.known[rows]
    weights = parts.wholes[places] / parts.wholes[places].sum()
    estimates = (parts.estimates[place] for place in places)
    values, *limits = np.array([(one.value, one.low, one.high) for one in estimates], dtype=np.float64).T
    distances = (values - limits) * weights
    below, above = np.sqrt(np.maximum(0, (distances @ correlation * distances).sum(axis=1))).tolist()
    return max(0.0, value - below), min(1.0, value + above)


def _odds_limits(parts: _Ratios, rows: slice, above: int, correlation: FloatArray) -> tuple[float, float]:
    """Return the limits of the share of the first totals in all, which follow from those of the odds."""
    estimates = (parts.estimates[place] for place in parts.known[rows])
    limits = np.array([(one.value, one.low, one.high) for one in estimates], dtype=np.float64)
    limits *= parts.wholes[parts.known[rows], None]
    is_above = np.arange(len(limits)) < above
    odds, reverse = (_least_odds(limits, chosen, correlation) for chosen in (is_above, ~is_above))
    return odds / (1 + odds), 1 / (1 + reverse)


def _least_odds(limits: FloatArray, is_above: BoolArray, correlation: FloatArray) -> float:
    """Return the lower limit of a sum of totals divided by the others. Rows have total, low and high."""
    distances = abs(limits[:, 0] - np.where(is_above, limits[:, 1], limits[:, 2]))
    covariance = correlation * np.outer(distances, distances)
    above, rest, both = (
        float(covariance[np.ix_(one, other)].sum())
        for one, other in ((is_above, is_above), (~is_above, ~is_above), (is_above, ~is_above))
    )
    first, second = (float(limits[chosen, 0].sum()) for chosen in (is_above, ~is_above))
    return least_ratio(first, second, Squares(above, rest, both))


def spread_of(
    totals: ClusterTotals, gradient: FloatArray, denominators: Sequence[Columns], *, is_observed: bool = False
) -> Spread:
    """Return the variance of a linearised estimate, or with `is_observed` the one that ratings show.

    `gradient` has its derivatives by the sums of the columns, and `denominators` its denominator, or those of
    the shares that it compares.
    """
    estimates = _linearised(totals, gradient[:, None])
    unseen = np.zeros_like(totals.unseen) if is_observed else totals.unseen
    return _spreads(unseen, estimates, [_denominator(totals, *denominators)])[0]


def _spreads(unseen: FloatArray, estimates: _Linearised, below: Sequence[_Denominator]) -> list[Spread]:
    gradients = estimates.gradients
    variance = (gradients * (unseen @ gradients)).sum(axis=0)
    variance += [part / one.divisor @ part for part, one in zip(estimates.by_cluster, below, strict=True)]
    # If no rating contradicts the others, as if all errors were flagged, add up the columns separately.
    apart = unseen.diagonal() @ gradients**2
    found = np.where(variance < _NEGLIGIBLE, apart, variance).tolist()
    return [Spread(value, *one[1:]) for value, one in zip(found, below, strict=True)]


def _denominator(totals: ClusterTotals, *which: Columns) -> _Denominator:
    """Return the parts of a variance that follow from a denominator, or two.

    Residuals are scaled by the share of their cluster (CR2: Bell & McCaffrey 2002, Survey Methodology
    28:169). The degrees of freedom follow from the effective number of clusters with ratings (Kish 1965).
    """
    found: _Denominator | None = totals.kept.get(which)
    # Several estimates of the same pairs have one denominator.
    if found:
        return found
    rows, weights = ([picked(each.T, one) for one in which] for each in (totals.rows, totals.rated))
    shares = reduce(np.maximum, [row * (1 / row.sum()) for row in rows])
    sums = [each.sum() for each in weights]
    either = reduce(np.add, [each * (1 / whole) for each, whole in zip(weights, sums, strict=True)])
    squares = [picked(totals.squares, one) for one in which]
    found = totals.kept[which] = _Denominator(
        np.subtract(1, np.clip(shares, 0, 0.5, out=shares), out=shares),
        max(1.0, len(which) ** 2 / float(either @ either) - 1),
        int(np.count_nonzero(either != 0)),
        min(float(whole**2 / each) for whole, each in zip(sums, squares, strict=True)),
    )
    return found


def effective_size(rating: RatingVariance, spread: Spread, *, is_extrapolated: bool) -> float:
    """Return the number of independent ratings with the same variance.

    A few clusters can look alike by chance, so the variance includes one more cluster, whose ratings resemble
    each other. If the ratings do not vary, each cluster counts as one.
    """
    # There is at least one degree of freedom, even in a single cluster.
    clusters = min(spread.df + 1, spread.clusters)
    if spread.variance < _NEGLIGIBLE * max(rating.observed, _NEGLIGIBLE):
        return clusters
    if rating.observed < _NEGLIGIBLE:
        # As if half a cluster were different.
        return max(1.0, min(clusters, rating.any * clusters / (clusters + 1) ** 2 / spread.variance))
    alike = _LIKENESS * max(0.0, 1 - clusters / spread.ratings) * rating.any / (clusters * spread.ratings)
    effective = rating.observed / (spread.variance + alike)
    return max(1.0, effective if is_extrapolated else min(effective, spread.ratings))
