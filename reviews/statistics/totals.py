"""Totals of ratings by cluster, from which every estimate and its interval follow."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from reviews.statistics.strata import IntArray
from reviews.statistics.sums import FloatArray

# A column of `ClusterTotals`, or several whose sum is meant.
Columns = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterTotals:
    """Totals of K columns in T clusters. The columns of each domain follow those of the one before."""

    #: The estimated totals of the columns.
    sums: FloatArray
    #: T x K: the part of each cluster. Residuals are scaled for the variance.
    rows: FloatArray
    #: T x K: the weighted ratings alone.
    rated: FloatArray
    #: K x K: variance of the sums that small groups of ratings cannot show.
    unseen: FloatArray
    #: The number of ratings that are not 0, by column.
    counts: IntArray
    #: The sum of the squared weighted ratings, by column.
    squares: FloatArray
    #: Records that the totals describe. Without a population, the number of ratings.
    records: int
    #: Records without ratings that could represent them.
    uncovered: int
    #: Whether ratings represent the records of a population.
    is_extrapolated: bool
    #: The parts of variances that follow from denominators: see `clusters.spread_of`.
    kept: dict[tuple[Columns, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of_ratings(cls, rated: FloatArray, counts: IntArray, squares: FloatArray, records: int) -> Self:
        """Return totals that describe weighted ratings alone, given by cluster and column (T x K)."""
        sums, unseen = rated.sum(axis=0), np.zeros((rated.shape[1], rated.shape[1]))
        return cls(sums, rated, rated, unseen, counts, squares, records, uncovered=0, is_extrapolated=False)

    def of_all_domains(self, width: int) -> "ClusterTotals":
        """Return the totals of all domains together: `width` columns."""
        domains, clusters = len(self.sums) // width, len(self.rows)
        blocks = self.unseen.reshape(domains, width, domains, width)
        return replace(
            self,
            sums=self.sums.reshape(domains, width).sum(axis=0),
            rows=self.rows.T.reshape(domains, width, clusters).sum(axis=0).T,
            rated=self.rated.T.reshape(domains, width, clusters).sum(axis=0).T,
            unseen=blocks.sum(axis=(0, 2)),
            counts=self.counts.reshape(domains, width).sum(axis=0),
            squares=self.squares.reshape(domains, width).sum(axis=0),
        )


def columns_matrix(columns: int, which: Sequence[Columns]) -> FloatArray:
    """Return a matrix whose product with columns picks them: a column, or a sum of several, for each."""
    chosen = np.zeros((columns, len(which)))
    for place, one in enumerate(which):
        chosen[one if isinstance(one, int) else list(one), place] = 1
    return chosen


def picked_rows(rows: FloatArray, which: Sequence[Columns]) -> FloatArray:
    """Return a row, or the sum of several, for each: the product of `columns_matrix` and K x T rows."""
    # A product would multiply mostly zeros if there are many groups.
    if all(isinstance(one, int) for one in which):
        return rows[np.array(which, dtype=np.intp)]
    found = [rows[[one] if isinstance(one, int) else list(one)].sum(axis=0) for one in which]
    return np.array(found).reshape(len(which), *rows.shape[1:])


def picked(columns: FloatArray, which: Columns) -> FloatArray:
    """Return a column, or the sum of several."""
    # A product with zeros and ones is ten times as fast as a sum over columns of a row-wise matrix.
    found: FloatArray = columns @ columns_matrix(columns.shape[-1], [which])[:, 0]
    return found
