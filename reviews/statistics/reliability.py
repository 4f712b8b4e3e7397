"""Coefficients of agreement between several interchangeable raters of the same records.

Every figure has a 95% interval, or a sentence that says why it is undefined.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics.intervals import Z, undefined, wilson_limits
from reviews.statistics.strata import IntArray
from reviews.statistics.students_t import t_quantile
from reviews.statistics.sums import FloatArray

# Definitions for pages, by the names of the functions below. Alpha has two forms.
DEFINITIONS = {
    "alpha": "How much better reviewers agree with each other than chance would. 1 is perfect, 0 is no "
    "better than chance.\n\n"
    "Krippendorff's alpha for any number of reviewers. Krippendorff 2011, Computing Krippendorff's "
    "alpha-reliability. Interval: Dirichlet posterior at the "
    "effective number of records.",
    "ordinal_alpha": "Alpha for ordered scores: a near miss counts less than a far one. 1 is perfect, 0 is "
    "no better than chance.\n\n"
    "Krippendorff's alpha (2011), where the difference of two scores is the number of given scores between "
    "them. Only ranked scores count.",
    "fleiss_kappa": "How much better reviewers agree with each other than chance would. It usually is close "
    "to alpha.\n\n"
    "Fleiss' kappa of interchangeable reviewers, whatever the number of a record's scores. Fleiss 1971, "
    "Psychological Bulletin 76:378; for two reviewers it is Scott's pi. Interval: Dirichlet posterior at the "
    "effective number of records.",
    "unanimous": "How often reviewers give the same score without seeing the judge's. Where they differ, no "
    "judge can agree with all of them.\n\n"
    "The share of records with several blind scores that are all equal, weighted by the inverse of the "
    "record's probability. It is lower if more reviewers score a record. Interval: Wilson 1927, Journal of "
    "the American Statistical Association 22:209, at the effective number of records.",
}

# The scores of a record, in any order -> the number of records with these scores.
Units = Mapping[tuple[Any, ...], int]


@dataclass(frozen=True, slots=True)
class Weighing:
    """The records that each record represents."""

    #: The total weight of the records with these scores, on any scale. The number of records if it is absent.
    weights: Mapping[tuple[Any, ...], float] = field(default_factory=dict)
    #: The sum of their squared weights, on the same scale. The number of records if it is absent.
    squares: Mapping[tuple[Any, ...], float] = field(default_factory=dict)
    #: The records that are needed for one independent record of average weight.
    design_effect: float = 1.0


EVEN = Weighing()

# Draws from the posterior.
_DRAWS = 4_000
_SEED = 17


class _Parts(NamedTuple):
    """The observed agreement of a coefficient, and the agreement expected by chance, by draw."""

    agreed: FloatArray
    chance: FloatArray


# The contributions of a record to a coefficient, and their sums by draw.
_Added = dict[Any, float]
_Sums = dict[Any, FloatArray]


@dataclass(frozen=True, eq=False)
class Patterns:
    """The scores of records, as columns of equal length."""

    #: The sorted categories (or places in an order) of the scores of each record.
    scores: tuple[tuple[int, ...], ...]
    #: The inverse of the probability of each record.
    weight: FloatArray
    cluster: IntArray

    @property
    def counts(self) -> Counter[tuple[int, ...]]:
        """The number of records with the same scores."""
        return Counter(self.scores)

    @property
    def weighing(self) -> Weighing:
        """The weights of the scores, and the design effect of the share of unanimous records."""
        weights: dict[tuple[int, ...], float] = defaultdict(float)
        squares: dict[tuple[int, ...], float] = defaultdict(float)
        for scores, weight in zip(self.scores, self.weight.tolist(), strict=True):
            weights[scores] += weight
            squares[scores] += weight**2
        return Weighing(weights, squares, self._design_effect())

    def _design_effect(self) -> float:
        several = np.array([len(one) > 1 for one in self.scores], dtype=np.bool_)
        if not several.any():
            return 1.0
        same = np.array([len({*one}) == 1 for one in self.scores], dtype=np.float64)[several]
        weight = self.weight[several] / self.weight[several].sum()
        of_weights = len(weight) * float(weight @ weight)
        share = float(weight @ same)
        _, place = np.unique(self.cluster[several], return_inverse=True)
        sums = np.bincount(place, weight * (same - share))
        of_clusters = len(weight) * float(sums @ sums) / max(1e-9, share * (1 - share))
        return max(1.0, of_weights, of_clusters)


class _Unit(NamedTuple):
    """Records with the same scores."""

    records: int
    #: The number of records that they stand for. All of them together stand for themselves.
    weight: float
    #: The sum of the squares of these numbers.
    square: float


def alpha(units: Units, order: Sequence[Any] | None = None, *, weighing: Weighing = EVEN) -> Estimate:
    """Krippendorff's alpha (2011): ordinal if the `order` of the scores is given, nominal otherwise.

    Scores that are not in the order are dropped. `n` counts the records with two or more scores.
    """
    place = {score: position for position, score in enumerate(order or ())}
    paired = _paired(units, weighing, None if order is None else place)
    parts_of = partial(_alpha_parts, own=_own_share(paired), is_ordinal=order is not None)
    return _among(paired, weighing, "alpha", (_coincidences, parts_of))


def fleiss_kappa(units: Units, *, weighing: Weighing = EVEN) -> Estimate:
    """Fleiss' kappa (1971). `n` counts the records with two or more scores.

    Records with different numbers of scores have equal weights (Gwet 2014, Handbook of Inter-Rater
    Reliability, chapter 2).
    """
    return _among(_paired(units, weighing), weighing, "kappa", (_shares, _fleiss_parts))


def unanimous(units: Units, *, weighing: Weighing = EVEN) -> Estimate:
    """The share of records with several scores that are all equal. Interval: Wilson 1927."""
    paired = _paired(units, weighing)
    n = sum(unit.records for unit in paired.values())
    if not n:
        return undefined("There are no records with several scores to count.")
    share = min(1.0, sum(unit.weight for scores, unit in paired.items() if len(set(scores)) == 1) / n)
    return Estimate(share, *wilson_limits(share, max(1.0, n / weighing.design_effect)), n)


def _paired(
    units: Units, weighing: Weighing, place: Mapping[Any, int] | None = None
) -> dict[tuple[Any, ...], _Unit]:
    """Return the records with several scores, by their scores: as places in an order, if one is given."""
    found: dict[tuple[Any, ...], _Unit] = {}
    for given, records in units.items():
        kept = given if place is None else tuple(sorted(place[one] for one in given if one in place))
        if len(kept) > 1 and records > 0:
            known = found.get(kept, _Unit(0, 0.0, 0.0))
            weight, square = (
                sums.get(given, float(records)) for sums in (weighing.weights, weighing.squares)
            )
            found[kept] = _Unit(known.records + records, known.weight + weight, known.square + square)
    records = sum(unit.records for unit in found.values())
    scale = records / max(1e-9, sum(unit.weight for unit in found.values()))
    return {
        scores: _Unit(unit.records, unit.weight * scale, unit.square * scale**2)
        for scores, unit in found.items()
    }


def _own_share(paired: Mapping[tuple[Any, ...], _Unit]) -> float:
    """Return the share of pairs of scores, by weight, that are a score with itself."""
    squares = sum(len(scores) * unit.square for scores, unit in paired.items())
    total = sum(len(scores) * unit.weight for scores, unit in paired.items())
    return squares / max(1.0, total) ** 2


def _among(
    paired: Mapping[tuple[Any, ...], _Unit],
    weighing: Weighing,
    name: str,
    ways: tuple[Callable[[tuple[Any, ...]], _Added], Callable[[_Sums], _Parts]],
) -> Estimate:
    """Compute a coefficient from sums over records, and its interval from the posterior of their shares.

    `ways` give the sums that a record adds to, and the parts of the coefficient from these sums.
    """
    added_by, parts_of = ways
    n = sum(unit.records for unit in paired.values())
    if not n:
        return undefined("No record has two scores to compare.")
    given = sorted({score for scores in paired for score in scores}, key=str)
    if len(given) == 1:
        return undefined(f"All scores are the same: chance alone would agree, so {name} is undefined.", n)
    # One more record, with any pair of scores (Perks 1947, Journal of the Institute of Actuaries 73:285).
    kinds = {**dict.fromkeys(paired, 0.0)}
    for pair in product(given, repeat=2):
        kinds[pair] = kinds.get(pair, 0.0) + 1 / len(given) ** 2
    amounts = [added_by(scores) for scores in kinds]
    counts = np.array([paired[scores].weight if scores in paired else 0.0 for scores in kinds])
    effective = n / weighing.design_effect
    certain = effective * (Z / t_quantile(effective - 1)) ** 2
    drawn = np.random.default_rng(_SEED).standard_gamma(
        certain * counts / n + list(kinds.values()), (_DRAWS, len(kinds))
    )
    drawn *= n / drawn.sum(axis=1, keepdims=True)
    value = float(_coefficient(parts_of(_sums(amounts, counts[None])))[0])
    found = _coefficient(parts_of(_sums(amounts, drawn)))
    low, high = np.quantile(found[np.isfinite(found)], [0.025, 0.975])
    return Estimate(value, min(value, float(low)), max(value, float(high)), n)


def _sums(amounts: Sequence[_Added], weights: FloatArray) -> _Sums:
    """Add up what each kind of record adds, for each row of weights."""
    sums: _Sums = defaultdict(lambda: np.zeros(len(weights)))
    for added, weight in zip(amounts, weights.T, strict=True):
        for key, amount in added.items():
            sums[key] = sums[key] + amount * weight
    return sums


def _coefficient(parts: _Parts) -> FloatArray:
    """Correct the observed agreement for chance."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (parts.agreed - parts.chance) / (1 - parts.chance)


def _coincidences(scores: tuple[Any, ...]) -> _Added:
    """Count the scores of a record, and its pairs of different scores."""
    counts = Counter(scores)
    pairs = {
        (one, other): counts[one] * counts[other] / (len(scores) - 1)
        for one, other in permutations(counts, 2)
    }
    return {(score,): times for score, times in counts.items()} | pairs


def _alpha_parts(sums: _Sums, *, own: float, is_ordinal: bool) -> _Parts:
    """Return observed and expected agreement, with disagreement scaled to at most 1.

    Chance pairs each score with all others. `own` is the share of pairs of a score with itself: with equal
    weights, 1 / scores. Ordinal disagreement is the squared number of given scores between two scores.
    """
    given = {key[0]: amount for key, amount in sums.items() if len(key) == 1}
    pairs = [(key, amount) for key, amount in sums.items() if len(key) == 2]
    total = np.sum([*given.values()], axis=0)
    if not is_ordinal:
        observed = np.sum([amount for _, amount in pairs], axis=0)
        expected = total**2 - np.sum([amount**2 for amount in given.values()], axis=0)
    else:
        middle = _middles(given)
        observed = np.sum(
            [amount * (middle[one] - middle[other]) ** 2 for (one, other), amount in pairs], axis=0
        )
        first, second = (
            np.sum([given[one] * middle[one] ** power for one in given], axis=0) for power in (1, 2)
        )
        expected = 2 * (total * second - first**2)
    return _Parts(1 - observed / total, 1 - expected / (total**2 * (1 - own)))


def _middles(given: Mapping[Any, FloatArray]) -> dict[Any, FloatArray]:
    """Map each score to the number of lower scores plus half of its own, scaled to a range of 1."""
    below: FloatArray | float = 0.0
    middles = {}
    for score in sorted(given):
        middles[score] = below + given[score] / 2
        below = below + given[score]
    lowest, highest = middles[min(given)], middles[max(given)]
    return {score: (middle - lowest) / (highest - lowest) for score, middle in middles.items()}


def _shares(scores: tuple[Any, ...]) -> _Added:
    """Return a record's share of agreeing pairs, and the share of each score."""
    size, counts = len(scores), Counter(scores)
    agreed = sum(times * (times - 1) for times in counts.values()) / (size * (size - 1))
    return {"records": 1.0, "agreed": agreed} | {(score,): times / size for score, times in counts.items()}


def _fleiss_parts(sums: _Sums) -> _Parts:
    n = sums["records"]
    chance = np.sum([(amount / n) ** 2 for key, amount in sums.items() if isinstance(key, tuple)], axis=0)
    return _Parts(sums["agreed"] / n, chance)
