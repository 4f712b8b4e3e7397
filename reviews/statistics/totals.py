"""Totals of ratings by cluster, from which every estimate and its interval follow."""

from dataclasses import dataclass, replace

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

    def of_domain(self, domain: int, width: int) -> "ClusterTotals":
        """Return the totals of one domain: `width` columns."""
        place = slice(domain * width, (domain + 1) * width)
        return replace(
            self,
            sums=self.sums[place],
            rows=np.ascontiguousarray(self.rows[:, place]),
            rated=np.ascontiguousarray(self.rated[:, place]),
            unseen=self.unseen[place, place],
            counts=self.counts[place],
            squares=self.squares[place],
        )

    def of_all_domains(self, width: int) -> "ClusterTotals":
        """Return the totals of all domains together: `width` columns."""
        blocks = self.unseen.reshape(-1, width, len(self.sums) // width, width)
        return replace(
            self,
            sums=self.sums.reshape(-1, width).sum(axis=0),
            rows=self.rows.reshape(len(self.rows), -1, width).sum(axis=1),
            rated=self.rated.reshape(len(self.rated), -1, width).sum(axis=1),
            unseen=blocks.sum(axis=(0, 2)),
            counts=self.counts.reshape(-1, width).sum(axis=0),
            squares=self.squares.reshape(-1, width).sum(axis=0),
        )


def picked(columns: FloatArray, which: Columns) -> FloatArray:
    """Return a column, or the sum of several."""
    # A product with zeros and ones is ten times as fast as a sum over columns of a row-wise matrix.
    chosen = np.zeros(columns.shape[-1])
    chosen[[which] if isinstance(which, int) else list(which)] = 1
    picked: FloatArray = columns @ chosen
    return picked
