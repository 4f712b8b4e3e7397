"""Pool cells of a population so that each group has enough ratings to represent its records."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer]
#: Cells are pooled into groups with this many ratings, as far as the first name of their paths allows.
ENOUGH = 10
#: The group of a cell that no rating may represent.
UNCOVERED = -1


def group_cells(
    paths: Sequence[tuple[str, ...]], sizes: npt.NDArray[np.generic], ratings: IntArray
) -> IntArray:
    """Return the group of each cell, from 0, or `UNCOVERED`.

    Cells are split by their first name, then by the second, and so on. Parts with too few ratings are pooled,
    if necessary with the smallest part that has enough, but never parts by the first name: flagged records do
    not represent unflagged ones. Such a part without ratings is not covered.
    """
    group = np.full(len(paths), UNCOVERED)
    filled = [cell for cell in range(len(paths)) if sizes[cell] > 0 or ratings[cell] > 0]
    covered = [cells for cells in _parts(paths, filled, 0).values() if ratings[cells].sum()]
    groups = (cells for part in covered for cells in _groups(paths, ratings, part, 1))
    # In the order of their cells, so that more ratings alone do not change the numbers.
    for number, cells in enumerate(sorted(groups, key=min)):
        group[cells] = number
    return group


def _groups(
    paths: Sequence[tuple[str, ...]], ratings: IntArray, cells: list[int], depth: int
) -> Iterator[list[int]]:
    if not cells:
        return
    if depth == len(paths[cells[0]]):
        yield cells
        return
    # Names decide between equal numbers, so that the groups do not depend on the order of the cells.
    named = _parts(paths, cells, depth)
    order = sorted(named, key=lambda name: (int(ratings[named[name]].sum()), name))
    parts = [named[name] for name in order]
    pooled: list[int] = []
    while parts and (ratings[parts[0]].sum() < ENOUGH or (pooled and ratings[pooled].sum() < ENOUGH)):
        pooled += parts.pop(0)
    if pooled:
        yield pooled
    for part in parts:
        yield from _groups(paths, ratings, part, depth + 1)


def _parts(paths: Sequence[tuple[str, ...]], cells: Sequence[int], depth: int) -> dict[str, list[int]]:
    """Return the cells by their name at a depth."""
    parts: dict[str, list[int]] = defaultdict(list)
    for cell in cells:
        parts[paths[cell][depth] if paths[cell] else ""].append(cell)
    return parts
