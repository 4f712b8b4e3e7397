"""Student's t distribution with any positive number of degrees of freedom, without SciPy."""

from functools import lru_cache
from math import erfc, exp, inf, isinf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_TINY = 1e-300
_EXACT = 1e-15
_MOST_TERMS = 10_000
# The search for a quantile: its last step, its longest step, and the number of steps.
_CLOSE, _LONGEST_STEP, _MOST_STEPS = 1e-7, 2.0, 100
# From this many degrees of freedom, the series for the quantile is accurate to ten digits.
_MANY = 100


def t_tail(value: float, df: float) -> float:
    """Return the probability that |t| is at least |value|: the p-value of a two-sided test."""
    if isinf(df):
        return erfc(abs(value) / sqrt(2))
    if isinf(value):
        return 0.0
    return _incomplete_beta(df / (df + value * value), value * value / (df + value * value), df / 2)


@lru_cache(maxsize=4096)
def t_quantile(df: float, level: float = 0.95) -> float:
    """Return the limit that |t| stays below with the probability `level`: 1.96 for 95% and infinite `df`."""
    if df <= 0:
        return inf
    outside = 1 - level
    if df >= _MANY:
        return _series(NormalDist().inv_cdf(1 - outside / 2), 1 / df)
    # Newton's method on the logarithms: the tail is nearly a power of the limit, so few steps are enough.
    found = 1.0
    for _ in range(_MOST_STEPS):
        tail = t_tail(found, df)
        step = log(tail / outside) * tail / (2 * _density(found, df) * found)
        found *= exp(max(-_LONGEST_STEP, min(_LONGEST_STEP, step)))
        if abs(step) < _CLOSE:
            break
    return found


def _series(z: float, share: float) -> float:
    """Return the quantile of t from that of the normal distribution and 1 / df.

    Abramowitz & Stegun 1964, Handbook of Mathematical Functions, 26.7.5, with the next term of the series.
    """
    y = z * z
    terms = (
        (y + 1) / 4,
        ((5 * y + 16) * y + 3) / 96,
        (((3 * y + 19) * y + 17) * y - 15) / 384,
        ((((79 * y + 776) * y + 1482) * y - 1920) * y - 945) / 92160,
        (((((27 * y + 339) * y + 930) * y - 1782) * y - 765) * y + 17955) / 368640,
    )
    return z * (1 + sum(term * share**power for power, term in enumerate(terms, start=1)))


def _density(value: float, df: float) -> float:
    """Return the density of the distribution."""
    if isinf(df):
        return exp(-value * value / 2) / sqrt(2 * pi)
    height = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    return height * exp(-(df + 1) / 2 * log1p(value * value / df))


def _incomplete_beta(x: float, rest: float, a: float, b: float = 0.5) -> float:
    """Return the regularised incomplete beta function I_x(a, b). `rest` is 1 - x, without cancellation."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(rest, x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest))
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    above, below = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    found = below
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            below = 1 / _away_from_zero(1 + term * below)
            above = _away_from_zero(1 + term / above)
            found *= above * below
        if abs(above * below - 1) < _EXACT:
            break
    return found


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
