"""Estimates with honest intervals: shares, shares of a population by strata, differences, ratios, rankings.

Every interval has 95 %. What cannot be said has no value, and a sentence that says why.

MOVER is the method of variance estimates recovery: the interval of a sum, a difference or a ratio of
independent estimates out of the intervals of each, which need not be symmetric (Zou & Donner 2008,
Statistics in Medicine 27:1693; Donner & Zou 2012, Statistical Methods in Medical Research 21:347).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import erfc, frexp, hypot, inf, sqrt
from typing import Any, NamedTuple

Z = 1.959963984540054  # of the normal distribution, 95 % lie between -Z and Z
SIGNIFICANT = 0.05
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval. `n` is what it is out of: pairs, records, units.

    Where `value` is None the figure is undefined, and where a limit is None there is no such limit; `why`
    then is a sentence for the page.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
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
    return Estimate(None, None, None, n, why)


# Shares


def wilson(successes: int, n: int, of: str = "records") -> Estimate:
    """A share of a random sample. `of` says in the plural what is counted.

    Wilson 1927, Journal of the American Statistical Association 22:209: the score interval, which stays
    within 0 to 1 and has a width also where nothing or everything was a success.
    """
    if not n:
        return undefined(f"There are no {of} to count.")
    return Estimate(successes / n, *wilson_limits(successes / n, n), n)


def wilson_limits(share: float, n: float) -> tuple[float, float]:
    """The limits of a share out of `n`, which need not be whole: an effective sample size, or infinite."""
    spread = Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    reach = sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


# Shares of a population


@dataclass(frozen=True, slots=True)
class StratumSample:
    """A stratum of a population: of its records some were reviewed, drawn at random, and some of these hit.

    `label` names it where a page says that it is not covered.
    """

    population: int
    reviewed: int
    hits: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class StratifiedEstimate:
    """The share of hits in the covered part of a population; `share.n` is how many records were reviewed.

    A part of which nothing was reviewed is not covered: nothing is known of it, and nothing assumed.
    """

    share: Estimate
    population: int
    covered: int
    uncovered: tuple[StratumSample, ...]

    @property
    def total(self) -> Estimate:
        """How many records hit in the covered part."""
        return scale(self.share, self.covered)

    @property
    def note(self) -> str:
        """A sentence that says what is not covered; empty if there is no such part."""
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
    """The share of hits in a population, each part weighted by its records (Cochran 1977, chapter 5).

    Parts of which a reviewed record stands for about as many others, within a factor of 2, are taken
    together: their interval is Wilson's at the effective sample size after unequal weights (Kish 1965, 11.7;
    Kott & Carr 1997, Journal of Official Statistics 13:297). What differs more is put together by MOVER, so
    that a part that was reviewed as a whole does not make a thin sample of another look like more.

    With `finite`, what was reviewed is certain, and a population that was reviewed as a whole has an interval
    of no width. Without, its records are themselves a sample of what might have come, as where models are
    compared by them.
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
    # How many records each of these has is chance as well.
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


# What is made of independent estimates


def scale(estimate: Estimate, factor: float) -> Estimate:
    """The estimate times a number that is known and not negative, as a share times a population."""

    def times(limit: float | None) -> float | None:
        return None if limit is None else limit * factor

    return replace(estimate, value=times(estimate.value), low=times(estimate.low), high=times(estimate.high))


def added(*estimates: Estimate) -> Estimate:
    """The sum of independent estimates, by MOVER."""
    return _linear([(1, estimate) for estimate in estimates])


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One less the other, by MOVER.

    Of two plain shares it is Newcombe's hybrid score interval (1998, Statistics in Medicine 17:873).
    """
    return _linear([(1, one), (-1, other)])


def _linear(terms: Sequence[tuple[float, Estimate]]) -> Estimate:
    """The sum of independent estimates, each times a number."""
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


def ratio(one: Estimate, other: Estimate) -> Estimate:
    """One divided by the other, independent and neither of them negative, by MOVER (Donner & Zou 2012)."""
    upper, lower = _limited(one), _limited(other)
    n = one.n + other.n
    if upper is None or lower is None:
        return undefined(one.why or other.why, n)
    if not lower.value:
        return undefined("There is nothing to divide by.", n)
    value, (low, high) = upper.value / lower.value, _ratio_limits(upper, lower)
    if high == inf:
        return Estimate(value, min(value, low), None, n, "What it is divided by may be 0.")
    return Estimate(value, min(value, low), max(value, high), n)


def share_of_sum(one: Estimate, other: Estimate) -> Estimate:
    """One divided by the sum of both, independent and neither of them negative: as recall is.

    It grows with the ratio of the two, whose limits (see `ratio`) are put in.
    """
    part, rest = _limited(one), _limited(other)
    n = one.n + other.n
    if part is None or rest is None:
        return undefined(one.why or other.why, n)
    total = part.value + rest.value
    if not total:
        return undefined("Both are 0, so there is nothing that it could be a part of.", n)
    value = part.value / total
    low, high = (1.0 if limit == inf else limit / (1 + limit) for limit in _ratio_limits(part, rest))
    return Estimate(value, min(value, low), max(value, high), n)


def _ratio_limits(one: _Limited, other: _Limited) -> tuple[float, float]:
    """Where the interval of `one - ratio * other` begins and ceases to hold 0; the last may be infinite.

    The roots of Donner & Zou's quadratic equations, in a form that holds for an `other` of 0 as well.
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


# Which of several differ


class PairComparison(NamedTuple):
    """Two of a list of estimates by their places; `difference` is the first less the second.

    `p` is adjusted for the number of pairs.
    """

    first: int
    second: int
    difference: Estimate
    p: float
    is_real: bool


def compare_pairs(estimates: Sequence[Estimate]) -> list[PairComparison]:
    """All pairs of independent estimates, and which of them differ by more than chance (Holm over all).

    An estimate that is undefined takes no part.
    """
    defined = [place for place, estimate in enumerate(estimates) if _limited(estimate)]
    places = list(combinations(defined, 2))
    differences = [difference(estimates[first], estimates[second]) for first, second in places]
    adjusted = holm([p_value(one) for one in differences])
    return [
        PairComparison(first, second, one, p, is_real=p < SIGNIFICANT)
        for (first, second), one, p in zip(places, differences, adjusted, strict=True)
    ]


def p_value(difference: Estimate) -> float:
    """How likely one as far from 0 is where there is none: two-sided, from the same variance as its limits.

    1 for a difference that is undefined.
    """
    found = _limited(difference)
    if found is None or not found.value:
        return 1.0
    reach = found.value - found.low if found.value > 0 else found.high - found.value
    return erfc(Z * abs(found.value) / reach / sqrt(2)) if reach > 0 else 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for all being asked at once, in their order.

    Holm 1979, Scandinavian Journal of Statistics 6:65.
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted
