"""Coefficients of agreement between several interchangeable raters of the same records.

Every figure has a 95% interval, or a sentence that says why it is undefined.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

from reviews.statistics.agreement import NEGLIGIBLE, chance_corrected
from reviews.statistics.intervals import Estimate, undefined, wilson

# Definitions for pages, by the names of the functions below. Alpha has two forms.
DEFINITIONS = {
    "alpha": "Krippendorff's alpha: agreement of any number of reviewers beyond chance. 1 is perfect "
    "agreement, 0 is chance. Krippendorff 2011, Computing Krippendorff's alpha-reliability. Interval: "
    "jackknife over the records (Efron & Tibshirani 1993, chapter 11).",
    "ordinal_alpha": "Krippendorff's alpha (2011) for ordered scores: the difference of two scores is the "
    "number of given scores between them. Only ranked scores count.",
    "fleiss_kappa": "Fleiss' kappa: agreement of interchangeable reviewers beyond chance, each record "
    "weighted equally. Fleiss 1971, Psychological Bulletin 76:378; for two reviewers it is Scott's pi. "
    "Interval: jackknife.",
    "unanimous": "The share of records with several scores that are all equal. Interval: Wilson 1927.",
}

# The scores of a record, in any order -> the number of records with these scores.
Units = Mapping[tuple[Any, ...], int]


class _Parts(NamedTuple):
    """The observed agreement of a coefficient, and the agreement expected by chance."""

    agreed: float
    chance: float


# Contributions of records to a coefficient.
_Sums = dict[Any, float]


def alpha(units: Units, order: Sequence[Any] | None = None) -> Estimate:
    """Krippendorff's alpha (2011): ordinal if the `order` of the scores is given, nominal otherwise.

    Scores that are not in the order are dropped. `n` counts the records with two or more scores.
    """
    if order is not None:
        place = {score: position for position, score in enumerate(order)}
        ordered: Counter[tuple[Any, ...]] = Counter()
        for scores, count in units.items():
            ordered[tuple(sorted(place[score] for score in scores if score in place))] += count
        units = ordered
    return _among(units, "alpha", _coincidences, partial(_alpha_parts, is_ordinal=order is not None))


def fleiss_kappa(units: Units) -> Estimate:
    """Fleiss' kappa (1971). `n` counts the records with two or more scores.

    Records with different numbers of scores have equal weights (Gwet 2014, Handbook of Inter-Rater
    Reliability, chapter 2).
    """
    return _among(units, "kappa", _shares, _fleiss_parts)


def unanimous(units: Units) -> Estimate:
    """The share of records with several scores that are all equal. Interval: Wilson 1927."""
    paired = _paired(units)
    same = sum(count for scores, count in paired.items() if len(set(scores)) == 1)
    return wilson(same, sum(paired.values()), "records with several scores")


def _paired(units: Units) -> Units:
    return {scores: count for scores, count in units.items() if len(scores) > 1 and count > 0}


def _among(
    units: Units,
    name: str,
    added_by: Callable[[tuple[Any, ...]], _Sums],
    parts_of: Callable[[_Sums], _Parts],
) -> Estimate:
    """Compute a coefficient from sums over records, and its interval by the jackknife."""
    paired = _paired(units)
    n = sum(paired.values())
    if not n:
        return undefined("No record has two scores to compare.")
    if len({score for scores in paired for score in scores}) == 1:
        return undefined(f"All scores are the same: chance alone would agree, so {name} is undefined.", n)
    amounts = {scores: added_by(scores) for scores in paired}
    sums: _Sums = defaultdict(float)
    for scores, count in paired.items():
        for key, amount in amounts[scores].items():
            sums[key] += count * amount
    without_one = [
        (parts_of({**sums, **{key: sums[key] - amount for key, amount in amounts[scores].items()}}), count)
        for scores, count in paired.items()
    ]
    return chance_corrected(*parts_of(sums), n, _jackknife_variance(without_one, n))


def _jackknife_variance(without_one: Iterable[tuple[_Parts, int]], n: int) -> float | None:
    """Return the jackknife variance, or None if the coefficient is undefined without some record."""
    found = []
    for (agreed, chance), count in without_one:
        if 1 - chance < NEGLIGIBLE:
            return None
        found.append(((agreed - chance) / (1 - chance), count))
    mean = sum(value * count for value, count in found) / n
    return (n - 1) / n * sum(count * (value - mean) ** 2 for value, count in found)


def _coincidences(scores: tuple[Any, ...]) -> _Sums:
    """Count the scores of a record, and its pairs of different scores."""
    counts = Counter(scores)
    pairs = {
        (one, other): counts[one] * counts[other] / (len(scores) - 1)
        for one, other in permutations(counts, 2)
    }
    return {(score,): times for score, times in counts.items()} | pairs


def _alpha_parts(sums: _Sums, *, is_ordinal: bool) -> _Parts:
    """Return observed and expected agreement, with disagreement scaled to at most 1.

    Ordinal disagreement is the squared number of given scores between two scores.
    """
    given = {key[0]: amount for key, amount in sums.items() if len(key) == 1 and amount}
    total = sum(given.values())
    if len(given) < 2:
        return _Parts(1, 1)
    pairs = [(key, amount) for key, amount in sums.items() if len(key) == 2 and amount]
    if not is_ordinal:
        observed = sum(amount for _, amount in pairs)
        expected = total**2 - sum(amount**2 for amount in given.values())
    else:
        middle = _middles(given)
        observed = sum(amount * (middle[one] - middle[other]) ** 2 for (one, other), amount in pairs)
        first, second = (sum(given[one] * middle[one] ** power for one in given) for power in (1, 2))
        expected = 2 * (total * second - first**2)
    return _Parts(1 - observed / total, 1 - expected / (total * (total - 1)))


def _middles(given: Mapping[Any, float]) -> dict[Any, float]:
    """Map each score to the number of lower scores plus half of its own, scaled to a range of 1."""
    middles, below = {}, 0.0
    for score in sorted(given):
        middles[score] = below + given[score] / 2
        below += given[score]
    widest = max(middles.values()) - min(middles.values())
    return {score: middle / widest for score, middle in middles.items()}


def _shares(scores: tuple[Any, ...]) -> _Sums:
    """Return a record's share of agreeing pairs, and the share of each score."""
    size, counts = len(scores), Counter(scores)
    agreed = sum(times * (times - 1) for times in counts.values()) / (size * (size - 1))
    return {"records": 1.0, "agreed": agreed} | {(score,): times / size for score, times in counts.items()}


def _fleiss_parts(sums: _Sums) -> _Parts:
    n = sums["records"]
    if not n:
        return _Parts(1, 1)
    chance = sum((amount / n) ** 2 for key, amount in sums.items() if isinstance(key, tuple))
    return _Parts(sums["agreed"] / n, chance)
