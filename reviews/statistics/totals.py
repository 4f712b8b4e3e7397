"""Totals of ratings by cluster, from which every estimate and its interval follow."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from reviews.statistics.strata import IntArray
from reviews.statistics.sums import FloatArray

_T = TypeVar("_T", bound=np.generic)
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
    #: The parts of variances that follow from denominators: see `clusters._denominator`.
    kept: dict[tuple[Columns, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of_ratings(cls, rated: FloatArray, counts: IntArray, squares: FloatArray, records: int) -> Self:
        """Return totals that describe weighted ratings alone, given by cluster and column (T x K)."""
        sums, unseen = rated.sum(axis=0), np.zeros((rated.shape[1], rated.shape[1]))
        return cls(sums, rated, rated, unseen, counts, squares, records, uncovered=0, is_extrapolated=False)

    def join_domains(self, width: int, starts: Sequence[int] = (0,)) -> "ClusterTotals":
        """Add up the columns of successive domains, `width` for each: from every start to the next one."""

        def joined(columns: npt.NDArray[_T]) -> npt.NDArray[_T]:
            of_domains = columns.reshape(len(columns) // width, width, *columns.shape[1:])
            return np.concatenate([part.sum(axis=0) for part in np.split(of_domains, starts[1:])])

        return replace(
            self,
            sums=joined(self.sums),
            rows=joined(self.rows.T).T,
            rated=joined(self.rated.T).T,
            unseen=joined(joined(self.unseen).T),
            counts=joined(self.counts),
            squares=joined(self.squares),
        )


def columns_matrix(columns: int, which: Sequence[Columns]) -> FloatArray:
    """Return a matrix whose product with columns picks them: a column, or a sum of several, for each."""
    chosen = np.zeros((columns, len(which)))
    for place, one in enumerate(which):
        chosen[one if isinstance(one, int) else list(one), place] = 1
    return chosen


def weighted_sum(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of columns. `columns` has a row for each column. Most weights are 0."""
    places = np.flatnonzero(weights)
    # Columns that are close together need not be copied.
    is_close = len(places) > 0 and places[-1] - places[0] < 3 * len(places)
    some = slice(places[0], places[-1] + 1) if is_close else places
    found: FloatArray = weights[some] @ columns[some]
    return found


def picked(columns: FloatArray, which: Columns) -> FloatArray:
    """Return a column, or the sum of several."""
    if isinstance(which, int):
        one: FloatArray = columns[which]
        return one
    return weighted_sum(columns, columns_matrix(len(columns), [which])[:, 0])
