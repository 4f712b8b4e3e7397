"""Arrange ratings as pairs of scores: the confusion matrix."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reviews.judge.cells import Cell, IntArray
from reviews.judge.ratings import FloatArray, RatingKind
from reviews.records.scores import is_score
from reviews.statistics.agreement import ConfusionMatrix
from reviews.statistics.coefficients import Confusion
from reviews.statistics.score_categories import ScoreCategories
from reviews.statistics.totals import ClusterTotals

_NEITHER = "neither"


class ScorePairs:
    """The scores of the judge and of people on a scale of K categories."""

    def __init__(self, scale: ScoreCategories, kinds: Sequence[RatingKind], counts: IntArray) -> None:
        """`counts` has the number of ratings of each kind."""
        self._scale, self.kinds, self._counts = scale, kinds, counts
        self._size = len(scale.categories)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of each kind's pair, or -1."""
        return np.array([self._place(kind) for kind in self.kinds], dtype=np.int64)

    def only(self, condition: Callable[[Cell], bool]) -> "ScorePairs":
        """Return the pairs of cells that meet a condition, without looking their scores up again."""
        kept = [number for number, kind in enumerate(self.kinds) if condition(kind.cell)]
        chosen = ScorePairs(self._scale, [self.kinds[number] for number in kept], self._counts[kept])
        chosen._places = self._places[kept]
        return chosen

    @cached_property
    def left_out(self) -> Counter[str]:
        """The number of ratings that are not in the table, by the reason."""
        found: Counter[str] = Counter()
        for number in np.flatnonzero(self._places < 0).tolist():
            found[_why_left_out(self.kinds[number])] += int(self._counts[number])
        return found

    @property
    def ratings(self) -> int:
        """The number of ratings with a score by the judge or by the person."""
        return self.table.n + sum(count for why, count in self.left_out.items() if why != _NEITHER)

    @cached_property
    def table(self) -> ConfusionMatrix:
        """The number of ratings with each pair of scores."""
        counts = (self._counts @ self.one_hot if len(self.kinds) else np.zeros(self._size**2)).astype(int)
        rows = counts.reshape(self._size, self._size).tolist()
        return ConfusionMatrix(self._scale.categories, tuple(map(tuple, rows)))

    @cached_property
    def one_hot(self) -> FloatArray:
        """A row for each kind of rating: 1 in the column of its pair, judge's category x K + human's."""
        found = np.zeros((len(self.kinds), self._size**2))
        paired = np.flatnonzero(self._places >= 0)
        found[paired, self._places[paired]] = 1
        return found

    @property
    def right_and_all(self) -> FloatArray:
        """A row for each kind of rating: whether the scores are equal, and whether they are in the table."""
        diagonal = np.arange(self._size) * (self._size + 1)
        return np.column_stack([self.one_hot[:, diagonal].sum(axis=1), self.one_hot.sum(axis=1)])

    def confusion(self, totals: ClusterTotals, domain: int = 0) -> Confusion:
        """Return the matrix of totals of `one_hot`, from which all figures follow."""
        return Confusion(self._scale.categories, totals, domain * self._size**2)

    def _place(self, kind: RatingKind) -> int:
        judge, human = self._scale.place(kind.judge), self._scale.place(kind.human)
        return -1 if judge is None or human is None else judge * self._size + human


def _why_left_out(kind: RatingKind) -> str:
    match is_score(kind.judge), is_score(kind.human):
        case True, True:
            return "out of scale"
        case True, False:
            return "judge only"
        case False, True:
            return "human only"
    return _NEITHER
