"""How far several people agree with each other on records that each of them scored, whoever they were.

Each figure has an interval of 95 %, and a sentence instead of a value where it is undefined.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

from reviews.statistics.agreement import NEGLIGIBLE, chance_corrected
from reviews.statistics.intervals import Estimate, undefined, wilson

# What a figure is, and where it is from. By the names of the functions here; alpha has two forms.
DEFINITIONS = {
    "alpha": "Agreement of several people beyond chance, whoever they were and however many scored a record: "
    "1 is all of it, 0 none. Krippendorff 2011, Computing Krippendorff's alpha-reliability. Interval: "
    "jackknife over the records (Efron & Tibshirani 1993, chapter 11).",
    "ordinal_alpha": "Krippendorff's alpha (2011) for scores in an order: two scores differ by as many of "
    "all given scores as lie between them. Only scores that have a place in the order count.",
    "fleiss_kappa": "Kappa of several people who stand for one another, each record weighted alike: Fleiss "
    "1971, Psychological Bulletin 76:378; of two people it is Scott's pi. Interval: jackknife.",
    "unanimous": "The share of records with several scores on which all of them are the same. Interval: "
    "Wilson 1927.",
}

# The scores that a record got, in whatever order -> how many records got these.
Units = Mapping[tuple[Any, ...], int]


class _Parts(NamedTuple):
    """Of a coefficient: what is agreed, and what would be by chance."""

    agreed: float
    chance: float


# What records add to a coefficient, by keys of its own.
_Sums = dict[Any, float]


def alpha(units: Units, order: Sequence[Any] | None = None) -> Estimate:
    """Krippendorff's alpha, ordinal where the scores' `order` is given, best or worst first; else nominal.

    `n` is the number of records with two scores or more; a score that is not in the order is left out.
    """
    if order is not None:
        place = {score: position for position, score in enumerate(order)}
        ordered: Counter[tuple[Any, ...]] = Counter()
        for scores, count in units.items():
            ordered[tuple(sorted(place[score] for score in scores if score in place))] += count
        units = ordered
    return _among(units, "alpha", _coincidences, partial(_alpha_parts, is_ordinal=order is not None))


def fleiss_kappa(units: Units) -> Estimate:
    """Kappa of several people who stand for one another. `n` as for `alpha`.

    Where records differ in how many scored them, each counts alike (Gwet 2014, Handbook of Inter-Rater
    Reliability, chapter 2).
    """
    return _among(units, "kappa", _shares, _fleiss_parts)


def unanimous(units: Units) -> Estimate:
    """See `DEFINITIONS`."""
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
    """A coefficient by sums that each record adds to, and its interval by the jackknife."""
    paired = _paired(units)
    n = sum(paired.values())
    if not n:
        return undefined("No record has two scores to compare.")
    if len({score for scores in paired for score in scores}) == 1:
        return undefined(f"All scores are the same: chance alone would agree too, so {name} is undefined.", n)
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
    """How a coefficient varies with one record left out; None if it is undefined without some record."""
    found = []
    for (agreed, chance), count in without_one:
        if 1 - chance < NEGLIGIBLE:
            return None
        found.append(((agreed - chance) / (1 - chance), count))
    mean = sum(value * count for value, count in found) / n
    return (n - 1) / n * sum(count * (value - mean) ** 2 for value, count in found)


def _coincidences(scores: tuple[Any, ...]) -> _Sums:
    """How often a record has a score, and two that differ."""
    held = Counter(scores)
    pairs = {
        (one, other): held[one] * held[other] / (len(scores) - 1) for one, other in permutations(held, 2)
    }
    return {(score,): times for score, times in held.items()} | pairs


def _alpha_parts(sums: _Sums, *, is_ordinal: bool) -> _Parts:
    """Disagreement is at most 1. Ordinal, it is the square of how many of the scores given lie between."""
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
    """For each score how many of all are below it, half of its own included; scaled to be at most 1 apart."""
    middles, below = {}, 0.0
    for score in sorted(given):
        middles[score] = below + given[score] / 2
        below += given[score]
    widest = max(middles.values()) - min(middles.values())
    return {score: middle / widest for score, middle in middles.items()}


def _shares(scores: tuple[Any, ...]) -> _Sums:
    """Of a record: the share of pairs of scores that agree, and of each score."""
    size, held = len(scores), Counter(scores)
    agreed = sum(times * (times - 1) for times in held.values()) / (size * (size - 1))
    return {"records": 1.0, "agreed": agreed} | {(score,): times / size for score, times in held.items()}


def _fleiss_parts(sums: _Sums) -> _Parts:
    n = sums["records"]
    if not n:
        return _Parts(1, 1)
    chance = sum((amount / n) ** 2 for key, amount in sums.items() if isinstance(key, tuple))
    return _Parts(sums["agreed"] / n, chance)
