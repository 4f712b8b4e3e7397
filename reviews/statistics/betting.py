"""Confidence sequences: limits that remain right however often somebody looks at them.

Shares have sequences by betting: Waudby-Smith & Ramdas 2024, Journal of the Royal Statistical Society B 86:1,
with the grid Kelly criterion. A player bets against "the share is m" at fair odds, cluster by cluster, with
several constant stakes at once. If the share is m, the capital ever reaches 40 times the initial capital in
at most 1 of 40 sequences (Ville 1939). The 95% confidence sequence consists of all m against which neither
the bet on a larger share nor the bet on a smaller share has earned that much.

Constant stakes make the capital independent of the order of the clusters, so that ratings can be weighted by
the strata of the population, whatever order they came in.

Other figures have asymptotic confidence sequences: Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, Annals
of Statistics 52:2613.
"""

from dataclasses import replace
from math import log, sqrt

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.intervals import Z, undefined
from reviews.statistics.sums import FloatArray

# The capital at which a share is excluded: two bets, each wrong in 2.5% of all sequences.
_ENOUGH = 2 / 0.05
# Stakes as shares of the largest one that cannot lose more than the capital.
_STAKES = 0.95 * 0.5 ** np.arange(8)
_STEPS = 17  # of the bisection: limits are right to 0.00001
# The number of ratings for which the asymptotic sequence is tightest, and the parameter that follows from it.
_TIGHTEST = 200
_RHO_SQUARED = (-2 * log(0.05) + log(-2 * log(0.05)) + 1) / _TIGHTEST


def share_sequence(hits: FloatArray, cases: FloatArray, n: int) -> Estimate:
    """Estimate a share, the sum of hits divided by the sum of cases, with its 95% confidence sequence.

    Both arrays have a weighted sum for each cluster, with 0 <= hits <= cases. `n` counts the ratings.
    """
    total = float(cases.sum())
    if not total > 0:
        return undefined("There are no ratings to count.", n)
    value = min(1.0, max(0.0, float(hits.sum()) / total))
    low = _lower_limit(hits, cases, value)
    high = 1 - _lower_limit(cases - hits, cases, 1 - value)
    return Estimate(value, min(value, low), max(value, high), n)


def _lower_limit(hits: FloatArray, cases: FloatArray, value: float) -> float:
    """Return the largest share below the value that the bet on a larger share excludes, or 0.

    The capital decreases in the share, so a bisection finds the limit.
    """
    stakes = _STAKES / cases.max()
    fixed = 1 - np.outer(cases, stakes)
    won = np.outer(hits, stakes)
    excluded, remaining = 0.0, value
    for _ in range(_STEPS):
        middle = (excluded + remaining) / 2
        if _capital(fixed, won, middle) >= _ENOUGH:
            excluded = middle
        else:
            remaining = middle
    return excluded


def _capital(fixed: FloatArray, won: FloatArray, share: float) -> float:
    """Return the mean capital of all stakes, as a multiple of the initial capital, after all clusters."""
    if share <= 0:
        return float("inf")
    logarithms = np.log(fixed + won / share).sum(axis=0)
    return float(np.exp(np.minimum(logarithms, 700.0)).mean())


def widened(estimate: Estimate) -> Estimate:
    """Widen a 95% interval to an asymptotic confidence sequence: by half to two thirds, depending on `n`.

    The interval must be that of an asymptotically normal figure from -1 to 1, such as a coefficient.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or low is None or high is None or not estimate.n:
        return estimate
    clock = estimate.n * _RHO_SQUARED
    times = sqrt((1 + 1 / clock) * log((1 + clock) / 0.05**2)) / Z
    return replace(
        estimate, low=max(-1.0, value - times * (value - low)), high=min(1.0, value + times * (high - value))
    )
