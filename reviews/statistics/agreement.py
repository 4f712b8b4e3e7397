"""The confusion matrix of the judge and people, as counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reviews.records.scales import Level


@dataclass(frozen=True, slots=True)
class Category:
    """A score that a rater may give."""

    label: str
    #: The level of the score by the run's verdict rule, if any.
    level: Level | None = None
    #: A higher rank is better. None if the score has no place in an order.
    rank: float | None = None
    #: The score as JSON text, a verdict as is. Empty for a category of several scores.
    spelled: str = ""

    @property
    def is_part(self) -> bool:
        """Whether the category is a part of a range of numbers."""
        return not self.spelled and self.level is None


@dataclass(frozen=True)
class ConfusionMatrix:
    """The number of records with each pair of scores.

    `counts[judge][human]` is indexed by position in `categories`, which are all scores that could have been
    given, including those that nobody gave.
    """

    categories: tuple[Category, ...]
    counts: tuple[tuple[int, ...], ...]

    @cached_property
    def n(self) -> int:
        return sum(map(sum, self.counts))

    @property
    def same(self) -> int:
        """The number of records with two equal scores."""
        return sum(row[place] for place, row in enumerate(self.counts))

    @cached_property
    def column_totals(self) -> tuple[int, ...]:
        """How often the human gave each score."""
        return tuple(sum(column) for column in zip(*self.counts, strict=True))

    def cells(self) -> Iterable[tuple[Category, Category, int]]:
        """Yield each pair of the judge's and the human's score with its count."""
        for judge, row in zip(self.categories, self.counts, strict=True):
            for human, count in zip(self.categories, row, strict=True):
                yield judge, human, count

    def as_json(self) -> dict[str, Any]:
        """Return the matrix. Rows are the judge's scores, columns the human's."""
        return {"scores": [category.label for category in self.categories], "judge_by_human": self.counts}
