"""Sums of values of ratings by key, cluster and domain."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reviews.statistics.strata import IntArray

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Cluster numbers are below this.
CLUSTERS = 65_536
# More clusters than this are added up in random groups: 4,095 degrees of freedom cost no precision.
_MOST_CLUSTERS = 4_096


class Places(NamedTuple):
    """The rows of totals by cluster."""

    #: The row of each cluster number.
    row: IntArray
    #: The number of rows.
    size: int
    #: Equal for equal rows.
    key: bytes

    @classmethod
    def from_seen(cls, seen: BoolArray) -> "Places":
        """Return a row for each cluster that was seen, or for each group of clusters if they are many."""
        size = int(seen.sum())
        if size > _MOST_CLUSTERS:
            return cls(np.arange(CLUSTERS) % _MOST_CLUSTERS, _MOST_CLUSTERS, b"")
        return cls(np.cumsum(seen) - 1, size, seen.tobytes())

    def tally(self, clusters: Sequence[IntArray], unit: IntArray) -> FloatArray:
        """Return units x size: how often the arrays of each unit have each row."""
        found = np.zeros((int(unit.max(initial=-1)) + 1, self.size))
        for number, of in zip(unit, clusters, strict=True):
            found[number] += np.bincount(self.row[of], minlength=self.size)
        return found


def seen_clusters(found: Iterable[IntArray]) -> BoolArray:
    """Return whether each cluster number is among those of some array."""
    seen = np.zeros(CLUSTERS, dtype=np.bool_)
    for clusters in found:
        seen[clusters] = True
    return seen


def are_grouped(clusters: IntArray) -> bool:
    """Return whether these clusters are so many that they are added up in groups."""
    return int(seen_clusters([clusters]).sum()) > _MOST_CLUSTERS


def add_up(key: IntArray, values: npt.NDArray[Any], size: int) -> FloatArray:
    """Add up values by key, 0 to `size` - 1."""
    sums: FloatArray = np.bincount(key, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums


class RatedValues:
    """The values of ratings, in `width` columns. Most are 0, so sums read the others only."""

    def __init__(self, values: FloatArray, kind: IntArray | None = None) -> None:
        """`kind` is the row of `values` of each rating; without it, each rating has a row."""
        self.rows, self.kind, self.width = values, kind, values.shape[1]
        order = np.argsort(values == 0, axis=1, kind="stable")
        entries = [
            self._entries(order[:, slot]) for slot in range(int((values != 0).sum(axis=1).max(initial=0)))
        ]
        none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        # The rating, the column and the value of each value that is not 0.
        self._rating, self._column, self._value = (
            np.concatenate(parts) for parts in zip(none, *entries, strict=True)
        )
        ratings = len(self.rows) if kind is None else len(kind)
        # Whether each rating has one value, so that weights need not be picked, and whether all values are 1.
        self._has_one_each = len(entries) == 1 and len(self._rating) == ratings
        self._are_ones = bool((self._value == 1).all())

    def _entries(self, column: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the values of ratings of which each row has one in the given column."""
        value = self.rows[np.arange(len(column)), column]
        rating = np.flatnonzero(value if self.kind is None else (value != 0)[self.kind])
        row = rating if self.kind is None else self.kind[rating]
        return rating, column[row], value[row]

    def sums(self, key: IntArray, weight: FloatArray, size: int, *, power: int = 1) -> FloatArray:
        """Return size x width sums, by a key of each rating, of weighted powers of the values."""
        if not self._has_one_each:
            key, weight = key[self._rating], weight[self._rating]
        weighted = weight if self._are_ones else weight * self._value**power
        found = add_up(key * self.width + self._column, weighted, size * self.width)
        return found.reshape(size, self.width)

    def products(self, weight: FloatArray) -> FloatArray:
        """Return width x width sums of weighted products of the columns."""
        of_row = weight if self.kind is None else add_up(self.kind, weight, len(self.rows))
        return (self.rows.T * of_row) @ self.rows


class DomainSums:
    """Adds up values of ratings in `width` columns for each domain. A rating of domain -1 is left out."""

    def __init__(
        self, values: RatedValues, domain: IntArray, place: IntArray, size: int, domains: int
    ) -> None:
        self.domains, self.size, self.total = domains, size, domains * values.width
        self._values = values
        self._is_kept = None if domain.min(initial=0) >= 0 else domain >= 0
        self._domain = np.maximum(domain, 0)
        self._key = place * domains + self._domain

    def columns_of(self, domain: int) -> slice:
        return slice(domain * self._values.width, (domain + 1) * self._values.width)

    def by_cluster(self, weight: FloatArray) -> FloatArray:
        """Return T x K weighted sums."""
        kept = weight if self._is_kept is None else weight * self._is_kept
        return self._values.sums(self._key, kept, self.size * self.domains).reshape(self.size, self.total)

    def sums(self, weight: FloatArray, *, power: int = 1) -> FloatArray:
        """Return K weighted sums of powers of the values."""
        kept = weight if self._is_kept is None else weight * self._is_kept
        return self._values.sums(self._domain, kept, self.domains, power=power).ravel()

    def counts(self) -> IntArray:
        """Return the K numbers of values that are not 0."""
        return np.rint(self.sums(np.ones(len(self._domain)), power=0)).astype(np.int64)
