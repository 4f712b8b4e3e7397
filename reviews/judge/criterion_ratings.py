"""Load the blind ratings of all criteria, with the rated records that do not have a criterion.

A criterion that only some records of a cell have is estimated as a part of the cell: the ratings of the other
records count as ratings without a score, so that they represent the records without the criterion.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reviews.judge.cells import Cell
from reviews.judge.computed_once import computes_once
from reviews.judge.loading import loads
from reviews.judge.ratings import NO_RATINGS, RatingKind, Ratings, load_all_ratings
from reviews.judge.scope import JudgeScope

# Ratings as a structured array.
Columns = NDArray[np.void]
_RATING = np.dtype([("cluster", np.int32), ("weight", np.float64)])


@loads
def load_blind_ratings(scope: JudgeScope) -> dict[str | None, Ratings]:
    """Load the blind ratings of the verdict (None) and of each rated criterion, with two queries.

    A criterion has a rating of every record that a person scored. Where the judge did not score the
    criterion, this rating has no scores.
    """
    found = load_all_ratings(scope)
    whole = found.get(None, NO_RATINGS)
    return {name: one if name is None else _with_absent(one, whole) for name, one in found.items()}


@computes_once
def _with_absent(ratings: Ratings, whole: Ratings) -> Ratings:
    """Add the ratings of verdicts whose records do not have the criterion, without scores."""
    if len(ratings) == len(whole):
        return ratings
    kinds: list[RatingKind] = [*ratings.kinds]
    columns: list[tuple[NDArray[Any], ...]] = [(ratings.counts, ratings.cluster, ratings.weight)]
    given = _by_cell(ratings)
    for (cell, is_sampled), all_ratings in _by_cell(whole).items():
        absent = _difference(all_ratings, given.get((cell, is_sampled), all_ratings[:0]))
        if len(absent):
            count = np.array([len(absent)], dtype=np.int32)
            columns.append((count, absent["cluster"], absent["weight"]))
            kinds.append(RatingKind(cell, is_sampled, None, None))
    counts, cluster, weight = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return Ratings(tuple(kinds), counts, cluster, weight)


def _by_cell(ratings: Ratings) -> dict[tuple[Cell, bool], Columns]:
    """Return the clusters and weights of ratings by the cell and the sample of their records."""
    columns = np.empty(len(ratings), dtype=_RATING)
    columns["cluster"], columns["weight"] = ratings.cluster, ratings.weight
    keys = [(kind.cell, kind.is_sampled) for kind in ratings.kinds]
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    if not number:
        return {}
    place = np.repeat(np.array([number[key] for key in keys], dtype=np.int32), ratings.counts)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=len(number)))
    return dict(zip(number, np.split(columns[order], ends[:-1]), strict=True))


def _difference(more: Columns, fewer: Columns) -> Columns:
    """Return the ratings of the first columns that are not among the second."""
    found, place = np.unique(np.concatenate([more, fewer]), return_inverse=True)
    left = np.bincount(place[: len(more)], minlength=len(found))
    left -= np.bincount(place[len(more) :], minlength=len(found))
    return np.repeat(found, np.maximum(0, left))
