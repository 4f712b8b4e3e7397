"""Compare two judges on the responses that both judged, from ratings of some of the responses.

Both verdicts on every response are known. On a response with equal verdicts, no judge is more accurate,
whatever a person would say. So only ratings of responses with different verdicts tell the judges apart, and
they represent responses with the same verdicts: clustered, stratified prediction-powered inference, as in
`clusters`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics import clusters
from reviews.statistics.clusters import Comparison
from reviews.statistics.extrapolation import Population, Sample, cluster_totals
from reviews.statistics.intervals import undefined
from reviews.statistics.strata import IntArray
from reviews.statistics.students_t import t_quantile, t_tail
from reviews.statistics.sums import BoolArray, Columns, FloatArray, Places, add_up, seen_clusters
from reviews.statistics.totals import ClusterTotals

_FRAMES = 4  # the records of each judge, flagged or not
_MIXED = 3  # in place of a verdict, if records of one judge differ
# The kinds of responses: by the flags, whether the verdicts differ, and the verdict of each judge.
_KINDS = (2, 2, 2, _MIXED + 1, _MIXED + 1)
# Ratings weigh the same where the same records are flagged, so such responses are never pooled.
_PATHS = [(f"{first}{second}", *map(str, verdicts)) for first, second, *verdicts in np.ndindex(*_KINDS)]


@dataclass(frozen=True, eq=False)
class Responses(Columns):
    """N responses that two judges judged, as columns."""

    #: The cluster of each response, 0 to 65,535.
    cluster: IntArray
    #: N x 3: the number of the first judge's records by verdict.
    first: IntArray
    #: The same of the second judge.
    second: IntArray
    #: N x 4: the number of records of the first judge that are unflagged and flagged, then of the second.
    records: IntArray
    #: The number of responses that each represents: 1 / (its probability to be in a random sample), or 1.
    weight: FloatArray

    @cached_property
    def flags(self) -> IntArray:
        """Which judges have a flagged record of each response: 1 for the first plus 2 for the second."""
        flags: IntArray = (self.records[:, [1, 3]] > 0) @ np.array([1, 2])
        return flags

    @property
    def is_flagged(self) -> BoolArray:
        """Whether some record of each response is flagged."""
        return self.flags > 0

    @cached_property
    def differs(self) -> BoolArray:
        """Whether the verdicts of the two judges differ."""
        first, second = self.first, self.second
        different: BoolArray = np.any(
            first * second.sum(axis=1, keepdims=True) != second * first.sum(axis=1, keepdims=True), axis=1
        )
        return different


@dataclass(frozen=True, eq=False)
class PairedRatings(Columns):
    """Blind ratings of responses, as columns."""

    #: The place of the response of each rating.
    response: IntArray
    #: The place in `Responses.records` of the rated record: 2 x judge (0 or 1) + flagged (0 or 1).
    frame: IntArray
    #: 1 / (probability with which the record was drawn and scored blind).
    weight: FloatArray
    #: The number of ratings of the record.
    raters: IntArray
    #: n x 2: whether the first and the second judge are right, as shares of their records.
    right: FloatArray


class PairedEstimate(NamedTuple):
    """The accuracies of two judges on the responses that ratings represent."""

    first: Estimate
    second: Estimate
    #: The second accuracy minus the first.
    difference: Comparison
    #: Responses that the figures describe.
    responses: int
    #: Those among them with different verdicts.
    different: int
    #: Those among these that no rating represents. The interval of the difference allows for any rating.
    unknown: int


def response_weights(responses: Responses, ratings: PairedRatings) -> FloatArray:
    """Return the weight of each rating: 1 / (expected number of ratings of its response).

    Each record of a response can be rated, those of the first judge and of the second, flagged ones and
    sampled ones with another probability (the single-frame estimator of Kalton & Anderson 1986, Journal of
    the Royal Statistical Society A 149:65). The probability of a kind of records is the share that was rated,
    so it includes how far the reviews of each run have got. A rating of a response in a random sample
    represents ratings of others.
    """
    each = responses.weight[ratings.response] / ratings.raters
    rated = add_up(ratings.frame, each, _FRAMES)
    whole = add_up(ratings.frame, ratings.weight * each, _FRAMES)
    chance = rated / np.maximum(1, responses.weight @ responses.records)
    relative = ratings.weight * each * (rated / np.maximum(whole, np.finfo(float).tiny))[ratings.frame]
    weights: FloatArray = relative / (responses.records[ratings.response] @ chance)
    return weights


def compare_verdicts(responses: Responses, ratings: PairedRatings) -> PairedEstimate:
    """Compare the verdicts of two judges. Flagged, or unflagged, responses without ratings are left out."""
    responses, ratings = _covered(responses, ratings)
    if not len(ratings):
        none = undefined("There are no ratings to compare.")
        return PairedEstimate(none, none, Comparison(none, 1.0), 0, 0, 0)
    weight = response_weights(responses, ratings)
    difference, unknown = _difference(responses, ratings, weight)
    return PairedEstimate(
        *_accuracies(responses, ratings, weight),
        difference,
        len(responses),
        int(responses.differs.sum()),
        unknown,
    )


def compare_scores(responses: Responses, ratings: PairedRatings) -> tuple[Estimate, Estimate, Comparison]:
    """Compare the scores of two judges for a criterion, which are known for rated responses only.

    Returns the accuracy of each judge, and the second minus the first.
    """
    responses, ratings = _covered(responses, ratings)
    if not len(ratings):
        none = undefined("There are no ratings to compare.")
        return none, none, Comparison(none, 1.0)
    weight = response_weights(responses, ratings)
    compared = clusters.difference(_totals(responses, ratings, weight), (1, 2), (0, 2))
    return *_accuracies(responses, ratings, weight), compared


def _accuracies(
    responses: Responses, ratings: PairedRatings, weight: FloatArray
) -> tuple[Estimate, Estimate]:
    """Estimate the accuracy of each judge from flagged and unflagged responses: few ratings may all agree."""
    totals = _totals(responses, ratings, weight, by_flag=True)
    first, second = clusters.stratified_ratios(totals, [[(0, 2), (3, 5)], [(1, 2), (4, 5)]])
    return first, second


def _covered(responses: Responses, ratings: PairedRatings) -> tuple[Responses, PairedRatings]:
    """Leave out the flagged, or the unflagged, responses if none of them is rated."""
    flagged = responses.is_flagged
    of_rating = flagged[ratings.response]
    is_rated = np.array([(~of_rating).any(), of_rating.any()])
    if is_rated.all():
        return responses, ratings
    return _part(responses, ratings, is_rated[flagged.astype(int)])


def _part(responses: Responses, ratings: PairedRatings, kept: BoolArray) -> tuple[Responses, PairedRatings]:
    chosen, place = ratings.only(kept[ratings.response]), np.cumsum(kept) - 1
    return responses.only(kept), replace(chosen, response=place[chosen.response])


def _totals(
    responses: Responses, ratings: PairedRatings, weight: FloatArray, *, by_flag: bool = False
) -> ClusterTotals:
    """Add up, by cluster, whether the first and the second judge are right, and the responses.

    With `by_flag`, the columns of unflagged responses come before those of flagged ones.
    """
    key = np.ravel_multi_index(
        (
            responses.flags % 2,
            responses.flags // 2,
            responses.differs,
            _verdicts(responses.first),
            _verdicts(responses.second),
        ),
        _KINDS,
    )
    order = np.argsort(key.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(key, minlength=len(_PATHS)))[:-1]
    of_cell, weights = np.split(responses.cluster[order], ends), np.split(responses.weight[order], ends)
    sizes = add_up(key, responses.weight, len(_PATHS))
    sample = Sample(key[ratings.response], responses.cluster[ratings.response], weight)
    values = np.column_stack([ratings.right, np.ones(len(ratings))])
    domains = [int(by_flag and path[0] != "00") for path in _PATHS]
    return cluster_totals(sample, values, Population(_PATHS, sizes, of_cell, weights), domains)


def _verdicts(counts: IntArray) -> IntArray:
    """Return the place of the verdict of each row of counts, or `_MIXED`."""
    is_mixed = (counts > 0).sum(axis=1) > 1
    return np.where(is_mixed, _MIXED, counts.argmax(axis=1))


def _difference(responses: Responses, ratings: PairedRatings, weight: FloatArray) -> tuple[Comparison, int]:
    """Return the difference of the accuracies, and the number of differing responses that none represents.

    The degrees of freedom are between those of all ratings and those of responses with different verdicts.
    """
    places = Places.from_seen(seen_clusters([responses.cluster]))
    place, clusters_found = places.rows(responses.cluster), places.size
    differs = responses.differs
    some, rated = _part(replace(responses, cluster=place), ratings, differs)
    change = _change(some, rated, weight[differs[ratings.response]], clusters_found)
    is_unknown = ~np.isin(some.flags, some.flags[rated.response])
    whole = add_up(place, responses.weight, clusters_found)
    of_all = add_up(place[ratings.response], weight, clusters_found)
    n = float(responses.weight.sum())
    value = change.total / n
    residual = (change.by_cluster - value * whole) / n
    variance = float((residual**2 / (1 - np.minimum(0.5, whole / n))).sum()) + change.unseen / n**2
    represented = float(some.weight[~is_unknown].sum()) / n if len(rated) else 1.0
    effective = _effective(change.weights) if len(rated) else float(clusters_found)
    number = change.ratings if len(rated) else effective
    # Two more ratings, one in favour of each judge: Bonett & Price 2012, Journal of Educational and
    # Behavioral Statistics 37:479.
    variance += represented**2 * 2 / ((number + 2) * (effective + 2))
    df = max(1.0, sqrt(max(1.0, _effective(of_all) - 1) * max(1.0, effective - 1)))
    unknown = float(some.weight[is_unknown].sum()) / n
    reach = t_quantile(df) * sqrt(variance) + unknown
    estimate = Estimate(
        value,
        max(-1.0, value - reach),
        min(1.0, value + reach),
        len(ratings),
        clusters=int(np.count_nonzero(of_all)),
    )
    beyond = max(0.0, abs(value) - unknown)
    return Comparison(estimate, t_tail(beyond / sqrt(variance), df) if beyond else 1.0), int(is_unknown.sum())


class _Change(NamedTuple):
    """Responses that only the second judge got right, less those that only the first got right."""

    total: float
    #: The part of each cluster, with residuals scaled for the variance.
    by_cluster: FloatArray
    #: The variance of the total that small groups of ratings cannot show.
    unseen: float
    #: The weight of the ratings of each cluster.
    weights: FloatArray
    #: The effective number of ratings.
    ratings: float


def _change(some: Responses, ratings: PairedRatings, weight: FloatArray, size: int) -> _Change:
    """Add up the change on responses with different verdicts. Their clusters are numbers below `size`."""
    if not len(ratings):
        return _Change(0.0, np.zeros(size), 0.0, np.zeros(size), 0.0)
    totals = _totals(some, ratings, weight)
    rows = np.flatnonzero(np.bincount(some.cluster, minlength=size))
    by_cluster, weights = np.zeros(size), np.zeros(size)
    by_cluster[rows] = totals.rows[:, 1] - totals.rows[:, 0]
    weights[rows] = totals.rated[:, 2]
    direction = np.array([-1, 1, 0])
    return _Change(
        float(direction @ totals.sums),
        by_cluster,
        float(direction @ totals.unseen @ direction),
        weights,
        float(weights.sum() ** 2 / totals.squares[2]),
    )


def _effective(weights: FloatArray) -> float:
    """Return the effective number of clusters (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())
