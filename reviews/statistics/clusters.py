"""Shares with 95% intervals from ratings in clusters, such as the records of a task.

Without a population, an estimate describes the ratings. With one, ratings represent the records of their
cell (judge, prompt, model, flag, judge's verdict): clustered, stratified prediction-powered inference
(Angelopoulos, Duchi & Zrnic 2023, PPI++; Fisch et al. 2024, Stratified prediction-powered inference).
Every estimate follows from totals by cluster, linearised (Taylor series). Its interval describes further
clusters of the same kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reviews.statistics.intervals import Estimate, undefined, wilson_limits
from reviews.statistics.strata import UNCOVERED, IntArray, group_cells
from reviews.statistics.students_t import t_quantile, t_tail
from reviews.statistics.sums import DomainSums, FloatArray, Places, RatedValues, add_up, seen_clusters
from reviews.statistics.totals import ClusterTotals, Columns, picked

_NEGLIGIBLE = 1e-12
# The correlation of ratings in a cluster that is assumed, in addition to the observed one.
_LIKENESS = 0.75


@dataclass(frozen=True, slots=True)
class Sample:
    """Ratings, as columns of equal length."""

    #: The position of each rating's cell in the population.
    cell: IntArray
    #: The cluster of each rating's record, 0 to 65,535.
    cluster: IntArray
    #: 1 / (probability of the rating x raters of the record).
    weight: FloatArray
    #: The row of its values, if several ratings have the same.
    kind: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Population:
    """All records that the ratings were drawn from, by cell."""

    #: The name of each cell, from coarse to fine: flag, verdict, judge, prompt, model.
    paths: Sequence[tuple[str, ...]]
    #: The number of records of each cell.
    sizes: IntArray
    #: The cluster of each record, by cell.
    clusters: Sequence[IntArray]

    @cached_property
    def seen(self) -> npt.NDArray[np.bool_]:
        """Whether there are records of each cluster number."""
        return seen_clusters(self.clusters)

    def by_cluster(self, places: Places, unit: IntArray) -> FloatArray:
        """Return U x T: the records of each unit, to which cells belong, and cluster. Counted once."""
        key = places.key, unit.tobytes()
        if key not in self._counted:
            self._counted[key] = places.tally(self.clusters, unit)
        return self._counted[key]

    @cached_property
    def _counted(self) -> dict[tuple[bytes, bytes], FloatArray]:
        return {}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two shares of the same clusters."""

    #: The first share minus the second. `n` counts the ratings of both.
    difference: Estimate
    #: Two-sided, of a t-test over the clusters. 1 if the difference is undefined.
    p: float


class Spread(NamedTuple):
    """The variance of an estimate."""

    variance: float
    #: Degrees of freedom of the variance.
    df: float
    #: The number of clusters with ratings.
    clusters: int


class RatingVariance(NamedTuple):
    """The variance of a linearised estimate of one rating."""

    #: Of a rating like those of the sample.
    observed: float
    #: Of a rating that may be any.
    any: float


def cluster_totals(
    sample: Sample,
    values: npt.ArrayLike,
    population: Population | None = None,
    domains: Sequence[int] | IntArray | None = None,
) -> ClusterTotals:
    """Add up values of ratings (n, or n x k) by cluster, and extrapolate them to the population.

    If the sample has kinds of ratings, `values` has a row for each kind.

    `domains` gives the domain of each cell, such as the number of its model, from 0, or -1 for none. The
    totals then have k columns for each domain. Ratings of all domains predict the values of a group of
    cells; the ratings of a domain correct the prediction for the domain.

    A part of the population whose first name (the flag) no rating has is not covered.
    """
    found = np.asarray(values, dtype=np.float64)
    rated = RatedValues(found if found.ndim > 1 else found[:, None], sample.kind)
    cells = len(population.sizes) if population else int(sample.cell.max(initial=-1)) + 1
    domain = np.zeros(cells, dtype=np.int64) if domains is None else np.asarray(domains, dtype=np.int64)
    seen = seen_clusters([sample.cluster])
    places = Places.from_seen(seen | population.seen if population else seen)
    if population is None:
        return _of_ratings(sample, rated, domain, places)
    return _Extrapolation(sample, rated, domain, population, places).totals()


def _domain_sums(sample: Sample, values: RatedValues, domain: IntArray, places: Places) -> DomainSums:
    domains = int(domain.max(initial=0)) + 1
    return DomainSums(values, domain[sample.cell], places.row[sample.cluster], places.size, domains)


def _of_ratings(sample: Sample, values: RatedValues, domain: IntArray, places: Places) -> ClusterTotals:
    columns = _domain_sums(sample, values, domain, places)
    rated = columns.by_cluster(sample.weight)
    return ClusterTotals(
        sums=rated.sum(axis=0),
        rows=rated,
        rated=rated,
        unseen=np.zeros((columns.total, columns.total)),
        counts=columns.counts(),
        squares=columns.sums(sample.weight**2, power=2),
        records=len(sample.cell),
        uncovered=0,
        is_extrapolated=False,
    )


class _Extrapolation:
    """Ratings, extrapolated to the cells of a population.

    The mean of its group of cells predicts a cell. Each rating adds its difference from the prediction,
    weighted by the number of records that it represents.
    """

    def __init__(
        self, sample: Sample, values: RatedValues, domain: IntArray, population: Population, places: Places
    ) -> None:
        self.domain, self.population, self.places = domain, population, places
        ratings = np.bincount(sample.cell, minlength=len(population.sizes))
        self.group = group_cells(population.paths, population.sizes, ratings)
        self.groups = int(self.group.max(initial=-1)) + 1
        # The cells of a group and a domain are a unit.
        pairs, self.unit = np.unique(domain * (self.groups + 1) + self.group - UNCOVERED, return_inverse=True)
        self.unit_domain, self.unit_group = pairs // (self.groups + 1), pairs % (self.groups + 1) + UNCOVERED
        self.cell, self.values = sample.cell, values
        self.rating_group = self.group[sample.cell]
        self.place = places.row[sample.cluster]
        self.columns = _domain_sums(sample, values, domain, places)
        self.records = self._by_group(self.group, population.sizes)
        of_group = self._by_group(self.rating_group, sample.weight)
        self.weight = sample.weight * (self.records / of_group)[self.rating_group]
        #: G x width
        sums = values.sums(self.rating_group - UNCOVERED, self.weight, self.groups + 1)[1:]
        self.means = sums / np.maximum(1, self.records)[:, None]
        self.shares = self._shares()

    def _by_group(self, group: IntArray, values: npt.NDArray[Any]) -> FloatArray:
        """Add up values by group. Uncovered cells count nothing."""
        return add_up(group - UNCOVERED, values, self.groups + 1)[1:]

    def _shares(self) -> FloatArray:
        """Return the share of each rating's cluster in the weight of its group."""
        key = self.rating_group * self.places.size + self.place
        weight = add_up(key, self.weight, self.groups * self.places.size)[key]
        shares: FloatArray = weight / np.maximum(1, self.records)[self.rating_group]
        return shares

    def totals(self) -> ClusterTotals:
        rated = self.columns.by_cluster(self.weight)
        # The scale makes squared residuals from an estimated mean unbiased.
        scaled = self.weight / np.sqrt(np.maximum(_NEGLIGIBLE, 1 - self.shares))
        covered = int(self.records.sum())
        left = self.population.sizes - add_up(self.cell, self.weight, len(self.group))
        return ClusterTotals(
            sums=self._predicted(add_up(self.unit, left, len(self.unit_group))[:, None])[0]
            + rated.sum(axis=0),
            rows=self._predicted(
                self.population.by_cluster(self.places, self.unit) - self._of_ratings(scaled)
            )
            + self.columns.by_cluster(scaled),
            rated=rated,
            unseen=self._unseen(),
            counts=self.columns.counts(),
            squares=self.columns.sums(self.weight**2, power=2),
            records=covered,
            uncovered=int(self.population.sizes.sum()) - covered,
            is_extrapolated=True,
        )

    def _of_ratings(self, weight: FloatArray) -> FloatArray:
        """Return U x T: the weight of the ratings of each unit and cluster."""
        shape = (len(self.unit_group), self.places.size)
        key = self.unit[self.cell] * self.places.size + self.place
        return add_up(key, weight, shape[0] * shape[1]).reshape(shape)

    def _predicted(self, records: FloatArray) -> FloatArray:
        """Return T x K: the predicted values of U x T records, by cluster."""
        # The last row is that of the group `UNCOVERED`.
        means = np.vstack([self.means, np.zeros(self.values.width)])[self.unit_group]
        rows = np.zeros((records.shape[1], self.columns.total))
        for domain in range(self.columns.domains):
            units = self.unit_domain == domain
            of = records if units.all() else records[units]
            rows[:, self.columns.columns_of(domain)] = of.T @ means[units]
        return rows

    def _unseen(self) -> FloatArray:
        """Return the variance of the sums that ratings of small groups cannot show.

        Few equal ratings have no variance. A group whose ratings vary less than others gets one more rating
        that varies as ratings within groups do, and one that may be of any group.
        """
        unseen = np.zeros((self.columns.total, self.columns.total))
        whole = self.weight.sum()
        if not whole:
            return unseen
        overall = self.values.sums(np.zeros_like(self.cell), self.weight, 1)[0] / whole
        squares = self.values.products(self.weight) / whole
        within = squares - (self.means * self.records[:, None]).T @ self.means / whole
        shift = self.means - overall
        any_rating = squares - np.outer(overall, overall) + shift[:, :, None] * shift[:, None, :]
        # One divided by the effective numbers of ratings: of each group, and of all.
        of_group = self._by_group(self.rating_group, self.weight * self.shares) / np.maximum(1, self.records)
        of_all = (self.weight**2).sum() / whole**2
        more = of_group[:, None, None] ** 2 * within + (of_group * of_all)[:, None, None] * any_rating
        records = self.records * self._calm(within)
        for domain in range(self.columns.domains):
            sizes = np.where(self.domain == domain, self.population.sizes, 0)
            place = self.columns.columns_of(domain)
            unseen[place, place] = np.tensordot(self._by_group(self.group, sizes) * records, more, axes=1)
        return unseen

    def _calm(self, within: FloatArray) -> FloatArray:
        """Return how much less the ratings of each group vary than those within all groups, from 0 to 1."""
        expected = float(np.trace(within))
        if expected < _NEGLIGIBLE:
            # No ratings vary within a group: their variance is a rounding error.
            return np.ones(self.groups)
        key = self.rating_group - UNCOVERED
        squares = self.values.sums(key, self.weight, self.groups + 1, power=2)[1:].sum(axis=1)
        varies = squares / np.maximum(1, self.records) - (self.means**2).sum(axis=1)
        calm: FloatArray = np.clip(1 - varies / expected, 0, 1)
        return calm


def ratio(totals: ClusterTotals, numerator: Columns, denominator: Columns) -> Estimate:
    """Estimate the share of one total in another, from 0 to 1. `n` counts the denominator's ratings.

    Wilson's interval at the effective sample size, share x (1 - share) / variance, with the quantile of t
    (Korn & Graubard 1998, Survey Methodology 24:193; Dean & Pagano 2015, Journal of Survey Statistics and
    Methodology 3:484).
    """
    n, whole = _size(totals, denominator)
    if not n or whole <= 0:
        return undefined("There are no ratings to count.", n)
    share, gradient = _share(totals, numerator, denominator)
    spread = spread_of(totals, gradient, [denominator])
    effective = effective_size(
        totals, RatingVariance(share * (1 - share), share**2 / 2 + (1 - share) ** 2 / 2), spread, denominator
    )
    low, high = wilson_limits(share, effective, t_quantile(spread.df))
    return Estimate(share, low, high, n, design_effect=n / effective, clusters=spread.clusters)


def difference(
    totals: ClusterTotals, first: tuple[Columns, Columns], second: tuple[Columns, Columns]
) -> Comparison:
    """Subtract two shares, each a pair of numerator and denominator, by a t-test over the clusters.

    As in Bonett & Price's interval of paired shares (2012, Journal of Educational and Behavioral Statistics
    37:479), the variance includes two more ratings, one in favour of each share, unless ratings of other
    cells show a variance.
    """
    denominators = [below for _, below in dict.fromkeys((first, second))]
    sizes = [_size(totals, below) for below in denominators]
    n = sum(count for count, _ in (sizes[:1] if first[1] == second[1] else sizes))
    if not all(count and whole > 0 for count, whole in sizes):
        return Comparison(undefined("There are no ratings to compare.", n), 1.0)
    (one, of_one), (other, of_other) = _share(totals, *first), _share(totals, *second)
    spread = spread_of(totals, of_one - of_other, denominators)
    variance = spread.variance
    if not totals.is_extrapolated or variance < _NEGLIGIBLE:
        ratings = max(spread.df + 1, min(_independent(totals, below) for below in denominators))
        more = ratings + 2
        variance = variance * (ratings / more) ** 2 + 2 / (more * (spread.df + 3))
    value, reach = one - other, t_quantile(spread.df) * sqrt(variance)
    estimate = Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), n, clusters=spread.clusters)
    return Comparison(estimate, t_tail(value / sqrt(variance), spread.df))


def _size(totals: ClusterTotals, denominator: Columns) -> tuple[int, float]:
    """Return the number of ratings of a denominator, and its total.

    Both are 0 if its ratings represent no records.
    """
    if not (picked(totals.rated, denominator).any() and picked(totals.rows, denominator).sum() > _NEGLIGIBLE):
        return 0, 0.0
    counts = picked(totals.counts.astype(np.float64), denominator)
    return int(counts), float(picked(totals.sums, denominator))


def _share(totals: ClusterTotals, numerator: Columns, denominator: Columns) -> tuple[float, FloatArray]:
    """Return a share and its derivatives by the sums of the columns."""
    above, below = picked(totals.sums, numerator), picked(totals.sums, denominator)
    gradient = np.zeros(totals.rows.shape[1])
    gradient[[numerator] if isinstance(numerator, int) else list(numerator)] += 1
    gradient[[denominator] if isinstance(denominator, int) else list(denominator)] -= above / below
    return min(1.0, max(0.0, float(above / below))), gradient / below


def spread_of(totals: ClusterTotals, gradient: FloatArray, denominators: Sequence[Columns]) -> Spread:
    """Return the variance of a linearised estimate.

    Residuals are scaled by the share of their cluster (CR2: Bell & McCaffrey 2002, Survey Methodology
    28:169).
    The degrees of freedom follow from the effective number of clusters with ratings (Kish 1965).
    """
    below = [picked(totals.rows, which) for which in denominators]
    shares = np.clip(np.max([one / one.sum() for one in below], axis=0), 0, 0.5)
    variance = float(((totals.rows @ gradient) ** 2 / (1 - shares)).sum())
    rated = [picked(totals.rated, which) for which in denominators]
    either = np.sum([one / one.sum() for one in rated], axis=0)
    effective = float(either.sum() ** 2 / (either**2).sum())
    variance += float(gradient @ totals.unseen @ gradient)
    if variance < _NEGLIGIBLE:
        # No rating contradicts the others, as if all errors were flagged: add up the columns separately.
        variance = float(gradient**2 @ totals.unseen.diagonal())
    return Spread(
        variance,
        max(1.0, effective - 1),
        int(np.count_nonzero(either)),
    )


def effective_size(
    totals: ClusterTotals, rating: RatingVariance, spread: Spread, denominator: Columns
) -> float:
    """Return the number of independent ratings with the same variance.

    A few clusters can look alike by chance, so the variance includes one more cluster, whose ratings resemble
    each other. If the ratings do not vary, each cluster counts as one.
    """
    clusters = spread.df + 1
    if spread.variance < _NEGLIGIBLE * max(rating.observed, _NEGLIGIBLE):
        return clusters
    if rating.observed < _NEGLIGIBLE:
        # As if half a cluster were different.
        return max(1.0, min(clusters, rating.any * clusters / (clusters + 1) ** 2 / spread.variance))
    independent = _independent(totals, denominator)
    alike = _LIKENESS * max(0.0, 1 - clusters / independent) * rating.any / (clusters * independent)
    effective = rating.observed / (spread.variance + alike)
    return max(1.0, effective if totals.is_extrapolated else min(effective, independent))


def _independent(totals: ClusterTotals, denominator: Columns) -> float:
    """Return the effective number of ratings, given their weights (Kish 1965)."""
    rated = float(picked(totals.rated, denominator).sum())
    return rated**2 / float(picked(totals.squares, denominator))
