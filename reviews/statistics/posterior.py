"""Intervals of kappa and its relatives from the Dirichlet posterior of the shares of pairs of scores.

The posterior has the effective number of ratings, which linearisation gives. It is right for few ratings and
for scores that nearly all records get, where normal approximations are not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt, sqrt

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.clusters import RatingVariance, effective_size, spread_of
from reviews.statistics.intervals import Z
from reviews.statistics.students_t import t_quantile
from reviews.statistics.sums import FloatArray
from reviews.statistics.totals import ClusterTotals

# From shares of pairs (judge x human x ...) to coefficients.
Coefficient = Callable[[FloatArray], FloatArray]

_STEP = 1e-6
# From all posteriors of a coefficient together.
_DRAWS = 4_000
# Ratings are single if the effective number of clusters is this share of them.
_SINGLE = 0.99
_SEED = 17
# Gamma distributions of a larger shape follow from normal ones.
_NEARLY_NORMAL = 20
# Prior ratings, evenly in all pairs of scores: the least that covers kappa at prevalence .9 (docs/judge.md).
_PRIOR = 1.5


@dataclass(frozen=True, eq=False)
class PairShares:
    """The shares of the pairs of some categories in all of them: of all records, or of a stratum."""

    totals: ClusterTotals
    #: The columns of the pairs, judge x human.
    columns: tuple[int, ...]
    #: The number of ratings.
    n: int
    #: The records with each pair.
    sums: FloatArray

    @cached_property
    def total(self) -> float:
        return float(self.sums.sum())

    @cached_property
    def shares(self) -> FloatArray:
        return self.sums / self.total

    def gradient(self, slopes: FloatArray) -> FloatArray:
        """Return the derivatives of a coefficient by the totals, given those by the shares."""
        gradient = np.zeros(self.totals.rows.shape[1])
        gradient[list(self.columns)] = (slopes - self.shares @ slopes) / self.total
        return gradient

    def rating(self, slopes: FloatArray) -> RatingVariance:
        moved = slopes - self.shares @ slopes
        return RatingVariance(float(self.shares @ moved**2), float((moved**2).mean()))

    def certain(self, slopes: FloatArray, *, is_skewed: bool) -> float:
        """Return the number of ratings of the posterior: the ratings, or less if they are alike.

        The posterior itself allows for scores that few ratings do not show. The judge's scores of all records
        predict how often people give a score, but not where they contradict the judge.
        """
        spread = spread_of(self.totals, self.gradient(slopes), [self.columns], is_observed=True)
        effective = effective_size(self.rating(slopes), spread, is_extrapolated=False)
        # The quantile of t, in place of that of the normal distribution, as a smaller sample: the variance of
        # clusters is estimated. That of single ratings follows from the shares.
        uses_t = is_skewed or spread.df + 1 < _SINGLE * self.n
        return effective * (Z / t_quantile(spread.df)) ** 2 if uses_t else effective


def estimate(
    whole: PairShares, strata: Sequence[PairShares], compute: Coefficient, *, is_skewed: bool = False
) -> Estimate:
    """Estimate a coefficient from the posterior of the shares of pairs, or from those of several strata.

    Few ratings of a stratum may all agree by chance, so each stratum has the uncertainty of its own ratings.
    The posterior of a skewed coefficient of few ratings is too narrow.
    """
    steps = np.eye(len(whole.shares)) * _STEP
    above, below = (_of_shares(compute, whole.shares[:, None] + step) for step in (steps, -steps))
    slopes = (above - below) / (2 * _STEP)
    spread = spread_of(whole.totals, whole.gradient(slopes), [whole.columns])
    effective = effective_size(whole.rating(slopes), spread, is_extrapolated=whole.totals.is_extrapolated)
    parts, alike = [one for one in strata if one.n and one.total], 1.0
    if len(parts) > 1:
        alike = _alike(parts, slopes)
    else:
        parts = [whole]
    prior = _PRIOR / len(parts)
    posteriors = []
    for one in parts:
        certain = one.certain(slopes, is_skewed=is_skewed) / alike
        parameters = (certain * one.shares + prior / len(one.shares)).tolist()
        posteriors.append((one.total / whole.total, tuple(parameters)))
    low, high = _posterior_limits(compute, tuple(posteriors))
    value = float(_of_shares(compute, whole.shares))
    return Estimate(
        value,
        min(value, low),
        max(value, high),
        whole.n,
        design_effect=whole.n / effective,
        clusters=spread.clusters,
    )


def _alike(strata: Sequence[PairShares], slopes: FloatArray) -> float:
    """Return the variance of a coefficient as a multiple of that of independent strata, 1 or more.

    Records of a task may be in several strata.
    """
    gradients = np.array([one.gradient(slopes) * one.total for one in strata])
    by_cluster = gradients @ strata[0].totals.rows.T
    apart = float((by_cluster**2).sum())
    return max(1.0, float((by_cluster.sum(axis=0) ** 2).sum()) / apart) if apart > 0 else 1.0


def _of_shares(compute: Coefficient, flat: FloatArray) -> FloatArray:
    """Return the coefficient of pairs of scores, scaled to shares: one, or one for each column."""
    size = isqrt(len(flat))
    matrix = flat.reshape(size, size, *flat.shape[1:])
    return compute(matrix / matrix.sum(axis=(0, 1)))


@lru_cache(maxsize=10_000)
def _posterior_limits(
    compute: Coefficient, strata: tuple[tuple[float, tuple[float, ...]], ...]
) -> tuple[float, float]:
    """Return the 95% interval of a coefficient if the shares of pairs of each stratum are Dirichlet.

    A stratum has its share of the records and the parameters of its distribution. Equal parameters give equal
    draws, so limits are remembered.
    """
    draws, size = _DRAWS // len(strata), len(strata[0][1])
    pairs = np.zeros((size, draws))
    for number, (share, parameters) in enumerate(strata):
        drawn = np.array([_gamma(one, number * size + place, draws) for place, one in enumerate(parameters)])
        pairs += drawn * (share / drawn.sum(axis=0))
    low, high = np.quantile(_of_shares(compute, pairs), [0.025, 0.975])
    return float(low), float(high)


def _gamma(shape: float, place: int, draws: int) -> FloatArray:
    """Draw from a gamma distribution. Draws in other places are independent.

    The cube root is nearly normal for a large shape (Wilson & Hilferty 1931, Proceedings of the National
    Academy of Sciences 17:684): the error of the limits is a thirtieth of that of so many draws, at most.
    """
    if shape < _NEARLY_NORMAL:
        return _few_ratings(shape, place, draws)
    root = 1 - 1 / (9 * shape) + _normal(place, draws) / (3 * sqrt(shape))
    return shape * root * root * root


@lru_cache(maxsize=400)
def _few_ratings(shape: float, place: int, draws: int) -> FloatArray:
    """Remember the draws of pairs of scores with few ratings: most have none, and the same shape."""
    return np.random.default_rng([_SEED, place]).standard_gamma(shape, draws)


@lru_cache(maxsize=400)
def _normal(place: int, draws: int) -> FloatArray:
    return np.random.default_rng([_SEED, place]).standard_normal(draws)
