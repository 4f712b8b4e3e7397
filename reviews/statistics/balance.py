"""The share of ratings on one side minus the share on the other, such as milder and stricter scores."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.clusters import RatingVariance, effective_size, spread_of
from reviews.statistics.intervals import Z, difference_limits
from reviews.statistics.students_t import t_quantile
from reviews.statistics.totals import ClusterTotals, picked

# Ratings are single if the effective number of clusters is this share of them.
_SINGLE = 0.99


def balance(
    totals: ClusterTotals, above: Sequence[int], below: Sequence[int], all_: Sequence[int]
) -> Estimate:
    """Estimate the share of `above` in `all_` minus the share of `below`, from -1 to 1.

    `all_` has the columns of `above` and `below`, and must have ratings. The interval combines the Wilson
    limits of both shares at the effective number of ratings (MOVER: Zou & Donner 2008, Statistics in Medicine
    27:1693). It is wider on the side of the rarer ratings.
    """
    n, whole = int(totals.counts[list(all_)].sum()), float(picked(totals.sums, tuple(all_)))
    one, other = (
        min(1.0, max(0.0, float(picked(totals.sums, tuple(side))) / whole)) for side in (above, below)
    )
    value = one - other
    gradient = np.zeros(totals.rows.shape[1])
    gradient[list(all_)] = -value
    gradient[list(above)] += 1
    gradient[list(below)] -= 1
    spread = spread_of(totals, gradient / whole, [tuple(all_)])
    # A rating of any kind is above, below or neither.
    rating = RatingVariance(max(0.0, one + other - value**2), value**2 + 2 / 3)
    effective = effective_size(rating, spread, is_extrapolated=totals.is_extrapolated)
    # The variance of clusters is estimated. That of single ratings follows from the shares.
    quantile = t_quantile(spread.df) if spread.df + 1 < _SINGLE * n else Z
    # The more ratings are on one side, the fewer can be on the other.
    rest = (1 - one) * (1 - other)
    alike = -sqrt(one * other / rest) if rest > 0 else -1.0
    low, high = difference_limits(one, effective, other, effective, quantile, correlation=alike)
    return Estimate(
        value, max(-1.0, low), min(1.0, high), n, design_effect=n / effective, clusters=spread.clusters
    )
