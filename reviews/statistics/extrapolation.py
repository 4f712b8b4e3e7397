"""Add up ratings by cluster, and extrapolate them to the records of a population.

Ratings represent the records of their cell (judge, prompt, model, flag, judge's verdict): clustered,
stratified prediction-powered inference (Angelopoulos, Duchi & Zrnic 2023, PPI++; Fisch et al. 2024,
Stratified prediction-powered inference). `clusters` computes estimates from the totals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from reviews.statistics.strata import UNCOVERED, IntArray, group_cells
from reviews.statistics.sums import BoolArray, FloatArray, KindValues, Places, add_up, seen_clusters
from reviews.statistics.totals import ClusterTotals

_T = TypeVar("_T", bound=np.generic)
_NEGLIGIBLE = 1e-12
# The sums by cluster that are kept. A report needs fewer different ones.
_MOST_KEPT = 20


@dataclass(frozen=True, eq=False)
class Sample:
    """Ratings, grouped into kinds. Ratings of one kind have the same cell and the same values."""

    #: The position of each kind's cell in the population.
    cell: IntArray
    #: The cluster of each rating's record, 0 to 65,535.
    cluster: IntArray
    #: For each rating, 1 / (its probability x raters of the record).
    weight: FloatArray
    #: The number of ratings of each kind; ratings are sorted by kind. Without it, each rating is a kind.
    counts: IntArray | None = None

    def by_kind(self, values: FloatArray) -> FloatArray:
        """Add up values of ratings by kind."""
        if self.counts is None:
            return values
        found, is_rated = np.zeros(len(self.counts)), self.counts > 0
        if len(values):
            found[is_rated] = np.add.reduceat(values, (np.cumsum(self.counts) - self.counts)[is_rated])
        return found

    def of_ratings(self, values: npt.NDArray[_T]) -> npt.NDArray[_T]:
        """Return for each rating the value of its kind."""
        return values if self.counts is None else np.repeat(values, self.counts)

    @cached_property
    def sizes(self) -> FloatArray:
        """The number of ratings of each kind."""
        return np.ones(len(self.cell)) if self.counts is None else self.counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Population:
    """All records that the ratings were drawn from, by cell."""

    #: The name of each cell, from coarse to fine: flag, verdict, judge, prompt, model.
    paths: Sequence[tuple[str, ...]]
    #: The number of records of each cell.
    sizes: IntArray | FloatArray
    #: The cluster of each record, by cell.
    clusters: Sequence[IntArray]
    #: The number of records that each record represents, by cell. Without it, these are all records.
    weights: Sequence[FloatArray] | None = None

    @cached_property
    def seen(self) -> BoolArray:
        """Whether there are records of each cluster number."""
        return seen_clusters(self.clusters)

    def by_cluster(self, places: Places, unit: IntArray) -> FloatArray:
        """Return U x T: the records of each unit, to which cells belong, and cluster. The last are kept."""
        key = places.key, unit.tobytes()
        found = self._counted.pop(key, None)
        if found is None:
            found = self._add_up(places, unit)
        # Last in the order of the dictionary, which other threads may change, too.
        self._counted[key] = found
        if len(self._counted) > _MOST_KEPT:
            self._counted.pop(next(iter(self._counted)), None)
        return found

    def _add_up(self, places: Places, unit: IntArray) -> FloatArray:
        of_cells = self._of_cells.get(places.key)
        if of_cells is None:
            of_cells = places.tally(self.clusters, self.weights)
            self._of_cells.clear()
            self._of_cells[places.key] = of_cells
        found = np.zeros((int(unit.max(initial=-1)) + 1, places.size))
        for number, of_cell in zip(unit, of_cells, strict=True):
            found[number] += of_cell
        return found

    @cached_property
    def _counted(self) -> dict[tuple[bytes, bytes], FloatArray]:
        return {}

    @cached_property
    def _of_cells(self) -> dict[bytes, FloatArray]:
        """The records of each cell by cluster, for the last rows."""
        return {}


def cluster_totals(
    sample: Sample,
    values: npt.ArrayLike,
    population: Population | None = None,
    domains: Sequence[int] | IntArray | None = None,
) -> ClusterTotals:
    """Add up values of ratings (a row for each kind, n or n x k) by cluster: see `Extrapolation.totals`.

    Without a population, the totals describe the ratings alone.
    """
    if population is not None:
        return Extrapolation(sample, population).totals(values, domains)
    columns = _columns(sample, values, _domain_of_cells(domains, int(sample.cell.max(initial=-1)) + 1))
    places = Places.from_seen(seen_clusters([sample.cluster]))
    rated = np.zeros((columns.total, places.size)).T
    columns.add_by_cluster(rated, sample.of_ratings, places.rows(sample.cluster), sample.weight)
    squares = columns.sums(sample.by_kind(sample.weight**2), power=2)
    return ClusterTotals.of_ratings(rated, _counts(sample, columns), squares, len(sample.cluster))


def _domain_of_cells(domains: Sequence[int] | IntArray | None, cells: int) -> IntArray:
    return np.zeros(cells, dtype=np.int64) if domains is None else np.asarray(domains, dtype=np.int64)


def _columns(sample: Sample, values: npt.ArrayLike, domain: IntArray) -> KindValues:
    rows = np.asarray(values, dtype=np.float64)
    return KindValues(
        rows if rows.ndim > 1 else rows[:, None], domain[sample.cell], int(domain.max(initial=0)) + 1
    )


def _counts(sample: Sample, columns: KindValues) -> IntArray:
    """Return the number of ratings that are not 0, by column."""
    return np.rint(columns.sums(sample.sizes, power=0)).astype(np.int64)


class Extrapolation:
    """Ratings, weighted by the records of a population that they represent.

    The mean of its group of cells predicts a cell. Each rating adds its difference from the prediction. A
    part of the population whose first name (the flag) no rating has is not covered.
    """

    def __init__(self, sample: Sample, population: Population) -> None:
        self._sample, self._population = sample, population
        cell = sample.cell
        ratings = add_up(cell, sample.sizes, len(population.sizes)).astype(np.int64)
        self._group = group_cells(population.paths, population.sizes, ratings)
        self._groups = int(self._group.max(initial=-1)) + 1
        self._group_of_kind = self._group[cell]
        #: Records by group.
        self._records = self._by_group(population.sizes)
        self._places = Places.from_seen(seen_clusters([sample.cluster]) | population.seen)
        self._row = self._places.rows(sample.cluster)
        factor = self._records / self._of_kinds(sample.by_kind(sample.weight))
        weight = sample.weight * sample.of_ratings(factor[self._group_of_kind])
        share = self._shares(weight)
        # The scale makes squared residuals from an estimated mean unbiased.
        self._weight, self._scaled = weight, weight / np.sqrt(np.maximum(_NEGLIGIBLE, 1 - share))
        self._of_kind, self._squares = sample.by_kind(weight), sample.by_kind(weight**2)
        # One divided by the effective number of ratings of each group.
        self._certainty = self._of_kinds(sample.by_kind(weight * share)) / np.maximum(1, self._records)

    def _by_group(self, of_cells: npt.NDArray[np.generic]) -> FloatArray:
        """Add up values of cells by group. Those of uncovered cells count nothing."""
        return add_up(self._group - UNCOVERED, of_cells, self._groups + 1)[1:]

    def _of_kinds(self, values: FloatArray) -> FloatArray:
        """Add up values of kinds by group."""
        return add_up(self._group_of_kind, values, self._groups)

    def _shares(self, weight: FloatArray) -> FloatArray:
        """Return the share of each rating's cluster in the weight of its group."""
        key = self._sample.of_ratings(self._group_of_kind * self._places.size) + self._row
        sums = add_up(key, weight, self._groups * self._places.size)[key]
        records = np.maximum(1, self._records)[self._group_of_kind]
        shares: FloatArray = sums / self._sample.of_ratings(records)
        return shares

    def totals(self, values: npt.ArrayLike, domains: Sequence[int] | IntArray | None = None) -> ClusterTotals:
        """Add up values (a row for each kind, n or n x k) by cluster, and extrapolate them.

        `domains` gives the domain of each cell, such as the number of its model, from 0. The totals then have
        k columns for each domain. Ratings of all domains predict the values of a group of cells; the ratings
        of a domain correct the prediction for the domain.
        """
        sample, population = self._sample, self._population
        domain = _domain_of_cells(domains, len(population.sizes))
        columns = _columns(sample, values, domain)
        units = _Units(domain, self._group, self._groups)
        means = columns.sums_by_group(self._of_kind, self._group_of_kind, self._groups)
        means /= np.maximum(1, self._records)[:, None]
        rows = units.predicted(population.by_cluster(self._places, units.of_cell), means)
        rated = np.zeros_like(rows)
        columns.add_by_cluster(rated, sample.of_ratings, self._row, self._weight)
        # The prediction counts a rating's own part once more.
        errors = columns.values - means[self._group_of_kind]
        KindValues(errors, domain[sample.cell], columns.domains).add_by_cluster(
            rows, sample.of_ratings, self._row, self._scaled
        )
        left = population.sizes - add_up(sample.cell, self._of_kind, len(population.sizes))
        covered = int(self._records.sum())
        return ClusterTotals(
            sums=units.predicted(units.add_up(left)[:, None], means)[0] + columns.sums(self._of_kind),
            rows=rows,
            rated=rated,
            unseen=self._unseen(columns, means, units.by_domain(units.add_up(population.sizes))),
            counts=_counts(sample, columns),
            squares=columns.sums(self._squares, power=2),
            records=covered,
            uncovered=int(population.sizes.sum()) - covered,
            is_extrapolated=True,
        )

    def _unseen(self, columns: KindValues, means: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the variance of the sums that ratings of small groups cannot show.

        Few equal ratings have no variance. A group whose ratings vary less than others gets one more rating
        that varies as ratings within groups do, and one that may be of any group. `sizes` has the number of
        records of each domain and group.
        """
        unseen = np.zeros((columns.total, columns.total))
        whole = float(self._of_kind.sum())
        if not whole:
            return unseen
        overall = columns.values.T @ self._of_kind / whole
        squares = (columns.values.T * self._of_kind) @ columns.values / whole
        within = squares - (means * self._records[:, None]).T @ means / whole
        shift = means - overall
        any_rating = squares - np.outer(overall, overall) + shift[:, :, None] * shift[:, None, :]
        # One divided by the effective numbers of ratings: of each group, and of all.
        of_group, of_all = self._certainty, self._squares.sum() / whole**2
        more = of_group[:, None, None] ** 2 * within + (of_group * of_all)[:, None, None] * any_rating
        records = self._records * self._calm(columns, means, float(np.trace(within)))
        blocks = np.tensordot(sizes * records, more, axes=1)
        domain = np.arange(len(sizes))
        unseen.reshape(len(sizes), columns.width, len(sizes), columns.width)[domain, :, domain] = blocks
        return unseen

    def _calm(self, columns: KindValues, means: FloatArray, expected: float) -> FloatArray:
        """Return how much less the ratings of each group vary than expected, from 0 to 1."""
        if expected < _NEGLIGIBLE:
            # Ratings of the same group are equal: their variance is a rounding error.
            return np.ones(self._groups)
        squares = columns.sums_by_group(self._of_kind, self._group_of_kind, self._groups, power=2)
        varies = squares.sum(axis=1) / np.maximum(1, self._records) - (means**2).sum(axis=1)
        calm: FloatArray = np.clip(1 - varies / expected, 0, 1)
        return calm


class _Units:
    """Cells by domain and group: the cells of a unit have both in common."""

    def __init__(self, domain: IntArray, group: IntArray, groups: int) -> None:
        self._groups, self._domains = groups, int(domain.max(initial=0)) + 1
        pairs, self.of_cell = np.unique(domain * (groups + 1) + group - UNCOVERED, return_inverse=True)
        self._domain, self._group = pairs // (groups + 1), pairs % (groups + 1) + UNCOVERED

    def add_up(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """Add up values of cells by unit."""
        return add_up(self.of_cell, values, len(self._group))

    def by_domain(self, values: FloatArray) -> FloatArray:
        """Return domains x groups: the value of each unit that is covered."""
        found = np.zeros((self._domains, self._groups + 1))
        found[self._domain, self._group] = values
        return found[:, :-1]

    def predicted(self, records: FloatArray, means: FloatArray) -> FloatArray:
        """Return T x K: the values of units x T records by cluster, if each has the mean of its group."""
        # The last row is that of the group `UNCOVERED`.
        of_unit = np.vstack([means, np.zeros(means.shape[1])])[self._group].T
        # Units are sorted by domain.
        ends = np.searchsorted(self._domain, np.arange(self._domains + 1))
        found = np.empty((self._domains, means.shape[1], records.shape[1]))
        for domain, (start, end) in enumerate(pairwise(ends)):
            np.matmul(of_unit[:, start:end], records[start:end], out=found[domain])
        return found.reshape(self._domains * means.shape[1], records.shape[1]).T
