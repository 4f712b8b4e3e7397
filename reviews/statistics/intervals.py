"""Estimates with 95% intervals: proportions, stratified proportions, differences, ratios and rankings.

An undefined estimate has a sentence instead of a value. MOVER is the method of variance estimates recovery:
it combines the intervals of independent estimates, which need not be symmetric, into that of a weighted
sum, a difference or a share (Zou & Donner 2008, Statistics in Medicine 27:1693; Donner & Zou 2012,
Statistical Methods in Medical Research 21:347).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import erfc, frexp, hypot, inf, sqrt
from typing import Any, NamedTuple

Z = 1.959963984540054  # 95% of the standard normal distribution lie between -Z and Z
SIGNIFICANT = 0.05
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval."""

    #: None if the figure is undefined.
    value: float | None
    #: None if there is no lower limit.
    low: float | None
    #: None if there is no upper limit.
    high: float | None
    #: The number of units the figure is based on.
    n: int
    #: Why the value or a limit is undefined, as a sentence for pages.
    why: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return self.why
        between = "" if self.low is None or self.high is None else f", {self.low:,.2f} to {self.high:,.2f}"
        return f"{self.value:,.2f}{between}, n = {self.n:,}"

    def as_json(self) -> dict[str, Any]:
        limits = {"value": self.value, "low": self.low, "high": self.high}
        rounded = {name: None if limit is None else round(limit, 6) for name, limit in limits.items()}
        return rounded | {"n": self.n, "why": self.why}


def undefined(why: str, n: int = 0) -> Estimate:
    """Return an undefined estimate with the reason."""
    return Estimate(None, None, None, n, why)


def wilson(successes: int, n: int, of: str = "records") -> Estimate:
    """Estimate a proportion from a random sample. `of` names the units in the plural.

    Wilson 1927, Journal of the American Statistical Association 22:209: the score interval, which stays
    within 0 and 1 and has a width for proportions of 0 and 1 too.
    """
    if not n:
        return undefined(f"There are no {of} to count.")
    return Estimate(successes / n, *wilson_limits(successes / n, n), n)


def wilson_limits(share: float, n: float) -> tuple[float, float]:
    """Return the limits of a proportion. `n` may be fractional (an effective sample size) or infinite."""
    spread = Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    reach = sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


@dataclass(frozen=True, slots=True)
class StratumSample:
    """A stratum of a population, and the random sample of it that was reviewed."""

    #: Records in the stratum.
    population: int
    #: Records of the sample.
    reviewed: int
    #: Reviewed records that hit.
    hits: int
    #: The name of the stratum on pages.
    label: str = ""


@dataclass(frozen=True, slots=True)
class StratifiedEstimate:
    """The proportion of hits in the covered part of a population. `share.n` counts reviewed records.

    A stratum without reviews is not covered: nothing is assumed about it.
    """

    share: Estimate
    population: int
    covered: int
    uncovered: tuple[StratumSample, ...]

    @property
    def note(self) -> str:
        """Return a sentence about the records that are not covered, or an empty string."""
        if not self.uncovered:
            return ""
        largest = sorted(self.uncovered, key=lambda part: -part.population)
        named = [f"{part.label or 'others'} ({part.population:,})" for part in largest[:_NAMED]]
        if len(largest) > _NAMED:
            named.append(f"{len(largest) - _NAMED:,} more")
        not_covered = f"not covered: {', '.join(named)}."
        return f"Covers {self.covered:,} of {self.population:,} records; {not_covered}"

    def as_json(self) -> dict[str, Any]:
        return self.share.as_json() | {
            "population": self.population,
            "covered": self.covered,
            "note": self.note,
        }


def stratified_share(parts: Iterable[StratumSample], *, finite: bool = True) -> StratifiedEstimate:
    """Estimate the proportion of hits in a population, each stratum weighted by its size.

    Cochran 1977, chapter 5. Strata with similar weights per reviewed record, within a factor of 2, are
    pooled: their interval is Wilson's at the effective sample size (Kish 1965, 11.7; Kott & Carr 1997,
    Journal of Official Statistics 13:297). Pools are combined by MOVER, so that a fully reviewed stratum
    does not make a thin sample of another one look larger.

    With `finite`, reviewed records are certain, and a fully reviewed population has an interval of zero
    width. Without it, the population itself is a sample of possible records, as when models are compared.
    """
    present = [part for part in parts if part.population > 0]
    reviewed = [part for part in present if part.reviewed > 0]
    covered = sum(part.population for part in reviewed)
    return StratifiedEstimate(
        share=_share(reviewed, covered, finite) if reviewed else undefined("No record was reviewed."),
        population=sum(part.population for part in present),
        covered=covered,
        uncovered=tuple(part for part in present if part.reviewed <= 0),
    )


def _share(parts: Iterable[StratumSample], population: int, finite: bool) -> Estimate:  # noqa: FBT001 (a value)
    alike: dict[int | None, list[StratumSample]] = defaultdict(list)
    for part in parts:
        others = part.population / part.reviewed - finite
        alike[frexp(others)[1] if others > 0 else None].append(part)
    weighed = [
        (sum(part.population for part in found) / population, _together(found, finite))
        for found in alike.values()
    ]
    share = _linear(weighed)
    if finite or share.value is None or share.low is None or share.high is None:
        return share
    # Without a finite population, the sizes of the pools vary by chance, too.
    between = sum(weight * ((one.value or 0) - share.value) ** 2 for weight, one in weighed) / population
    return replace(
        share,
        low=max(0.0, share.value - hypot(share.value - share.low, Z * sqrt(between))),
        high=min(1.0, share.value + hypot(share.high - share.value, Z * sqrt(between))),
    )


def _together(parts: list[StratumSample], finite: bool) -> Estimate:  # noqa: FBT001 (a value)
    population = sum(part.population for part in parts)
    share = spread = 0.0
    for part in parts:
        weight = part.population / population
        unseen = max(0.0, 1 - part.reviewed / part.population) if finite else 1.0
        share += weight * part.hits / part.reviewed
        spread += weight**2 * unseen / part.reviewed
    share = min(1.0, share)
    limits = wilson_limits(share, 1 / spread if spread else inf)
    return Estimate(share, *limits, sum(part.reviewed for part in parts))


def scale(estimate: Estimate, factor: float) -> Estimate:
    """Multiply an estimate by a known non-negative number."""

    def times(limit: float | None) -> float | None:
        return None if limit is None else limit * factor

    return replace(estimate, value=times(estimate.value), low=times(estimate.low), high=times(estimate.high))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Subtract two independent estimates by MOVER.

    For two plain proportions this is Newcombe's hybrid score interval (1998, Statistics in Medicine 17:873).
    """
    return _linear([(1, one), (-1, other)])


def _linear(terms: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Return a linear combination of independent estimates."""
    value, below, above, n = 0.0, 0.0, 0.0, 0
    for factor, estimate in terms:
        found = _limited(estimate)
        if found is None:
            return undefined(estimate.why, estimate.n)
        downward, upward = found.value - found.low, found.high - found.value
        if factor < 0:
            downward, upward = upward, downward
        value, n = value + factor * found.value, n + estimate.n
        below, above = below + (factor * downward) ** 2, above + (factor * upward) ** 2
    return Estimate(value, value - sqrt(below), value + sqrt(above), n)


class _Limited(NamedTuple):
    value: float
    low: float
    high: float


def _limited(estimate: Estimate) -> _Limited | None:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    return _Limited(estimate.value, estimate.low, estimate.high)


def share_of_sum(one: Estimate, other: Estimate) -> Estimate:
    """Divide an estimate by its sum with another one, as for recall. Both are independent and non-negative.

    The result is monotonic in the ratio of the two, so its limits follow from those of the ratio.
    """
    part, rest = _limited(one), _limited(other)
    n = one.n + other.n
    if part is None or rest is None:
        return undefined(one.why or other.why, n)
    total = part.value + rest.value
    if not total:
        return undefined("Both numbers are 0, so their ratio is undefined.", n)
    value = part.value / total
    low, high = (1.0 if limit == inf else limit / (1 + limit) for limit in _ratio_limits(part, rest))
    return Estimate(value, min(value, low), max(value, high), n)


def _ratio_limits(one: _Limited, other: _Limited) -> tuple[float, float]:
    """Return the limits of the ratio, the upper one possibly infinite.

    They are the roots of Donner & Zou's quadratic equations, in a form that also works if `other` is 0.
    """
    product = one.value * other.value

    def free(of: _Limited, limit: float) -> float:
        return limit * (2 * of.value - limit)

    least, most = free(one, max(0.0, one.low)), free(other, other.high)
    divisor = product + sqrt(max(0.0, product**2 - most * least))
    low = 0.0 if least <= 0 else least / divisor if divisor else inf
    largest, smallest = free(one, one.high), free(other, max(0.0, other.low))
    reached = product + sqrt(max(0.0, product**2 - smallest * largest))
    high = reached / smallest if smallest > 0 else inf
    return low, high


class PairComparison(NamedTuple):
    """Two of a list of estimates, given by their positions."""

    first: int
    second: int
    #: The first estimate minus the second.
    difference: Estimate
    #: Adjusted for the number of pairs.
    p: float
    is_significant: bool


def compare_pairs(estimates: Sequence[Estimate]) -> list[PairComparison]:
    """Compare all pairs of independent estimates, with Holm's adjustment. Undefined estimates are skipped."""
    defined = [place for place, estimate in enumerate(estimates) if _limited(estimate)]
    places = list(combinations(defined, 2))
    differences = [difference(estimates[first], estimates[second]) for first, second in places]
    adjusted = holm([p_value(one) for one in differences])
    return [
        PairComparison(first, second, one, p, is_significant=p < SIGNIFICANT)
        for (first, second), one, p in zip(places, differences, adjusted, strict=True)
    ]


def p_value(difference: Estimate) -> float:
    """Return the two-sided p-value of a difference, from the variance of its limits. 1 if undefined."""
    found = _limited(difference)
    if found is None or not found.value:
        return 1.0
    reach = found.value - found.low if found.value > 0 else found.high - found.value
    return erfc(Z * abs(found.value) / reach / sqrt(2)) if reach > 0 else 0.0


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
