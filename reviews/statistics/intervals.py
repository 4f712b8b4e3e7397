"""Estimates with 95% intervals."""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, inf, isinf, sqrt
from typing import Literal, NamedTuple

from cognireview.types.estimates import Estimate

Z = 1.959963984540054  # 95% of the standard normal distribution lie between -Z and Z
SIGNIFICANT = 0.05
_NEGLIGIBLE = 1e-12


def undefined(why: str, n: int = 0) -> Estimate:
    """Return an undefined estimate with the reason."""
    return Estimate(None, None, None, n, why)


def wilson(successes: int, n: int, units: str = "records") -> Estimate:
    """Estimate a proportion from a random sample. `units` names them in the plural.

    Wilson 1927, Journal of the American Statistical Association 22:209: the score interval, which stays
    within 0 and 1 and has a width for proportions of 0 and 1 too.
    """
    if not n:
        return undefined(f"There are no {units} to count.")
    return Estimate(successes / n, *wilson_limits(successes / n, n), n)


def wilson_limits(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Return the limits of a proportion. `n` may be fractional (an effective sample size) or infinite.

    `quantile` is that of the normal distribution, or of t if `n` follows from an estimated variance.
    """
    if isinf(quantile):
        return 0.0, 1.0
    spread = quantile * quantile / n
    middle = (share + spread / 2) / (1 + spread)
    reach = sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


def difference_limits(
    share: float,
    n: float,
    other_share: float,
    other_n: float,
    quantile: float = Z,
    *,
    correlation: float = 0.0,
) -> tuple[float, float]:
    """Return the limits of `share - other_share`, of two samples that are independent without a correlation.

    From the Wilson limits of both: Newcombe 1998, Statistics in Medicine 17:873 (method 10); with a
    correlation, Zou & Donner 2008, Statistics in Medicine 27:1693.
    """
    low, high = wilson_limits(share, n, quantile)
    other_low, other_high = wilson_limits(other_share, other_n, quantile)
    difference = share - other_share

    def reach(one: float, other: float) -> float:
        return sqrt(max(0.0, hypot(one, other) ** 2 - 2 * correlation * one * other))

    return (
        difference - reach(share - low, other_high - other_share),
        difference + reach(high - share, other_share - other_low),
    )


class Squares(NamedTuple):
    """Squared distances of two numbers from their limits."""

    #: Of the first from its lower limit.
    first: float
    #: Of the second from its upper limit.
    second: float
    #: The product of the distances, times the correlation of the numbers.
    product: float = 0.0


def least_ratio(first: float, second: float, squares: Squares) -> float:
    """Return the lower limit of a ratio of two numbers that are 0 or more.

    MOVER-R: Donner & Zou 2012, Statistical Methods in Medical Research 21:347, equation 9. Correlated numbers
    as in Zou & Donner 2008, Statistics in Medicine 27:1693.
    """
    least = first**2 - squares.first
    if least <= _NEGLIGIBLE * first**2 or isinf(squares.second):
        return 0.0
    middle = first * second - squares.product
    return least / (middle + sqrt(max(0.0, middle**2 - least * (second**2 - squares.second))))


def product_limits(one: Estimate, other: Estimate) -> tuple[float, float]:
    """Return the limits of the product of two independent shares, of which the second is above 0.

    They are those of the ratio of the first and the inverse of the second: see `least_ratio`.
    """
    first, low, high = one.value or 0.0, one.low or 0.0, one.high or 0.0
    second, most, fewest = (1 / number if number else inf for number in (other.value, other.low, other.high))
    least = least_ratio(first, second, Squares((first - low) ** 2, (most - second) ** 2))
    inverse = least_ratio(second, first, Squares((second - fewest) ** 2, (high - first) ** 2))
    return least, 1 / inverse if inverse else 1.0


def with_two_more(variance: float, ratings: float, df: float, square: float = 1.0) -> float:
    """Return the variance of a difference with two more ratings, one each way. `square` is that of each.

    Bonett & Price 2012, Journal of Educational and Behavioral Statistics 37:479. Both numbers may be those of
    an effective sample: `df` is the number of clusters less one.
    """
    more = ratings + 2
    return variance * (ratings / more) ** 2 + 2 * square / (more * (df + 3))


def side_of(estimate: Estimate, number: float = 0.0) -> Literal[-1, 0, 1]:
    """Return 1 if the interval is above a number, -1 if it is below, and 0 if neither is shown."""
    if estimate.low is not None and estimate.low > number:
        return 1
    return -1 if estimate.high is not None and estimate.high < number else 0


def scale(estimate: Estimate, factor: float, constant: float = 0.0) -> Estimate:
    """Multiply an estimate by a known number, and add a constant."""
    value, low, high = (
        None if one is None else one * factor + constant
        for one in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low if factor >= 0 else high, high=high if factor >= 0 else low)


def complement(estimate: Estimate) -> Estimate:
    """Return the estimate of the other share: 1 minus a share from 0 to 1."""
    return scale(estimate, -1, 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple testing, in their order.

    Holm 1979, Scandinavian Journal of Statistics 6:65.
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted
