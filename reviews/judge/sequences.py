"""Confidence sequences of the judge's figures: for quality gates, which are asked again as ratings come in.

Shares have sequences by betting on the weighted ratings of each cluster. Coefficients have asymptotic ones:
see `statistics.betting`.
"""

from dataclasses import replace

from cognireview.types.estimates import Estimate
from reviews.statistics.betting import share_sequence, widened
from reviews.statistics.coefficients import Confusion
from reviews.statistics.intervals import scale, undefined
from reviews.statistics.sums import FloatArray
from reviews.statistics.totals import ClusterTotals

#: With fewer ratings, no interval of a coefficient is reliable enough for a decision.
FEWEST_OF_COEFFICIENT = 50
#: Figures from -1 to 1 with asymptotically normal estimates.
_COEFFICIENTS = frozenset({"kappa", "weighted_kappa", "ac1"})


def figure_sequence(name: str, estimate: Estimate, confusion: Confusion | None) -> Estimate:
    """Return a figure of the judge with its 95% confidence sequence instead of its interval.

    A figure without pairs of scores is undefined. Raises `KeyError` for a figure that has no sequence.
    """
    if estimate.value is None or confusion is None:
        return estimate
    if columns := confusion.share_columns.get(name):
        return share_of_columns(estimate, confusion.totals, *columns)
    if name == "leniency":
        return _leniency(estimate, confusion)
    if name not in _COEFFICIENTS:
        raise KeyError(name)
    return coefficient_sequence(estimate)


def share_of_columns(
    estimate: Estimate, totals: ClusterTotals | None, hits: tuple[int, ...], cases: tuple[int, ...]
) -> Estimate:
    """Return a share with its sequence: the sum of the columns `hits` divided by that of `cases`."""
    if estimate.value is None or totals is None:
        return estimate
    return _share(estimate, _sums(totals, hits), _sums(totals, cases))


def coefficient_sequence(estimate: Estimate) -> Estimate:
    """Return a coefficient with its sequence. It is undefined with too few ratings or records."""
    if estimate.value is None or estimate.n >= FEWEST_OF_COEFFICIENT:
        return widened(estimate)
    return undefined(f"A coefficient needs {FEWEST_OF_COEFFICIENT} ratings or more.", estimate.n)


def _sums(totals: ClusterTotals, columns: tuple[int, ...]) -> FloatArray:
    """Add up columns of the weighted ratings, by cluster."""
    found: FloatArray = totals.rated[:, list(columns)].sum(axis=1)
    return found


def _share(estimate: Estimate, hits: FloatArray, cases: FloatArray) -> Estimate:
    found = share_sequence(hits, cases, estimate.n)
    return replace(estimate, value=found.value, low=found.low, high=found.high)


def _leniency(estimate: Estimate, counts: Confusion) -> Estimate:
    """Return 2s - 1: s is the share of ranked pairs with a milder judge, plus half that of equal pairs."""
    milder, stricter, equal = (
        _sums(counts.totals, counts.where(lambda judge, human: _compare(judge.rank, human.rank) == order))  # noqa: B023
        for order in (1, -1, 0)
    )
    return scale(_share(estimate, milder + equal / 2, milder + stricter + equal), 2, -1)


def _compare(judge: float | None, human: float | None) -> int | None:
    """Return 1 if the judge's rank is higher, -1 if it is lower, 0 if they are equal. None without both."""
    return None if judge is None or human is None else (judge > human) - (judge < human)
