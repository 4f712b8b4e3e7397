"""Sums of values of ratings by key, cluster and domain."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from reviews.statistics.strata import IntArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Columns:
    """A dataclass whose arrays are columns of one length, among them its first field."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def only(self, kept: NDArray[Any]) -> Self:
        """Return some of the rows. `kept` has their places, or says of each row whether it is kept."""
        if kept.dtype == np.bool_ and kept.all():
            return self
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        columns = {name: value[kept] for name, value in values.items() if isinstance(value, np.ndarray)}
        return replace(self, **columns)


#: Cluster numbers are below this.
CLUSTERS = 65_536
# More clusters than this are added up in random groups: 4,095 degrees of freedom cost no precision. A power
# of two.
_MOST_CLUSTERS = 4_096
# Cluster numbers that are looked at before those seen are counted.
_LOOKED_AT = 4 * _MOST_CLUSTERS


class Places(NamedTuple):
    """The rows of totals by cluster."""

    #: The row of each cluster number. None if clusters with the same last digits have the same row.
    row: IntArray | None
    #: The number of rows.
    size: int
    #: Equal for equal rows.
    key: bytes

    @classmethod
    def from_seen(cls, seen: BoolArray) -> "Places":
        """Return a row for each cluster that was seen, or for each group of clusters if they are many."""
        size = int(seen.sum())
        if size > _MOST_CLUSTERS:
            return cls(None, _MOST_CLUSTERS, b"")
        return cls(np.cumsum(seen) - 1, size, seen.tobytes())

    def rows(self, clusters: IntArray) -> IntArray:
        """Return the row of each of these clusters."""
        # A bit mask takes a tenth of the time of a look-up.
        return (clusters & (self.size - 1)).astype(np.int64) if self.row is None else self.row[clusters]

    def tally(self, clusters: Sequence[IntArray], weights: Sequence[FloatArray] | None = None) -> FloatArray:
        """Return arrays x size: how often each array has each row, or the sums of the weights."""
        found = np.zeros((len(clusters), self.size))
        for number, array in enumerate(clusters):
            weight = weights[number] if weights else None
            found[number] = np.bincount(self.rows(array), weight, minlength=self.size)
        return found


def seen_clusters(found: Iterable[IntArray]) -> BoolArray:
    """Return whether each cluster number is among those of some array.

    Stops once the clusters are so many that they are added up in groups, mostly after a few ratings.
    """
    seen = np.zeros(CLUSTERS, dtype=np.bool_)
    for clusters in found:
        for start in range(0, len(clusters), _LOOKED_AT):
            seen[clusters[start : start + _LOOKED_AT]] = True
            if np.count_nonzero(seen) > _MOST_CLUSTERS:
                return seen
    return seen


def are_grouped(clusters: IntArray) -> bool:
    """Return whether these clusters are so many that they are added up in groups."""
    return int(seen_clusters([clusters]).sum()) > _MOST_CLUSTERS


def add_up(key: IntArray, values: NDArray[Any], size: int) -> FloatArray:
    """Add up values by key, 0 to `size` - 1."""
    sums: FloatArray = np.bincount(key, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums


class KindValues:
    """The values of kinds of ratings: `width` columns for each domain. Most are 0.

    Sums read the others only.
    """

    def __init__(self, values: FloatArray, domain: IntArray, domains: int) -> None:
        """`values` has a row for each kind, and `domain` the number of its domain, from 0."""
        self.values, self.width, self.domains = values, values.shape[1], domains
        self.total = self.width * domains
        # The kind, the column and the value of each value that is not 0.
        self._kind, self._column = np.nonzero(values)
        self._value = values[self._kind, self._column]
        self._place = domain[self._kind] * self.width + self._column
        self._kinds = len(values)

    def sums(self, weight: FloatArray, *, power: int = 1) -> FloatArray:
        """Return a sum for each column of a domain, weighted by kind."""
        return add_up(self._place, weight[self._kind] * self._value**power, self.total)

    def sums_by_group(
        self, weight: FloatArray, group: IntArray, groups: int, *, power: int = 1
    ) -> FloatArray:
        """Return groups x `width` sums over all domains. `group` has the group of each kind."""
        key = group[self._kind] * self.width + self._column
        found = add_up(key, weight[self._kind] * self._value**power, groups * self.width)
        return found.reshape(groups, self.width)

    def add_by_cluster(
        self,
        found: FloatArray,
        of_ratings: Callable[[NDArray[Any]], NDArray[Any]],
        row: IntArray,
        weight: FloatArray,
    ) -> None:
        """Add weighted ratings to sums by cluster (rows) and column, which are stored column by column.

        `of_ratings` returns the values of kinds for each rating. `row` has the row of each rating's cluster.
        """
        sums = found.T.reshape(-1, copy=False)
        for place, value in self._slots():
            weighted = weight if (value == 1).all() else weight * of_ratings(value)
            np.add.at(sums, of_ratings(place * len(found)) + row, weighted)

    def _slots(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the first value of each kind and its place, then the second, and so on. 0 if it has fewer."""
        number = np.arange(len(self._kind)) - np.searchsorted(self._kind, self._kind)
        for slot in range(int(number.max(initial=-1)) + 1):
            chosen = number == slot
            place, value = np.zeros(self._kinds, dtype=np.int64), np.zeros(self._kinds)
            place[self._kind[chosen]], value[self._kind[chosen]] = self._place[chosen], self._value[chosen]
            yield place, value
