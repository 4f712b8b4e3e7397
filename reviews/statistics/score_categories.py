"""Arrange scores as ordered categories for agreement figures."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from typing import Any, Protocol, Self

from reviews.records.rubric import VERDICT_OF_LEVEL, Rubric
from reviews.records.scales import LEVELS, Level, RangeScale, Scale, ValueScale
from reviews.records.scores import Score, format_score, is_alike, is_score, likeness
from reviews.statistics.agreement import Category

#: With more possible scores than this, a table shows their levels instead, or equal parts of their range.
MOST_SCORES = 15
PARTS = 5
RANKS: dict[Level, float] = {level: rank for rank, level in enumerate(reversed(LEVELS))}
_COUNTS_AS: dict[Level, str] = {"yes": "counts as Yes", "partial": "counts as Partial", "no": "counts as No"}


class _Rated(Protocol):
    """Scores of the judge and of a person, or their verdicts."""

    @property
    def judge(self) -> Any: ...
    @property
    def human(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class ScoreCategories:
    """The scores of a criterion, or the verdicts, as categories, best first."""

    categories: tuple[Category, ...]
    places: dict[tuple[str, Score], int]

    @classmethod
    def from_scores(cls, rubric: Rubric, criterion: str, found: Iterable[Any]) -> Self:
        """Build the categories of a criterion's scale and of other scores that were found, as JSON values.

        With more than `MOST_SCORES` scores, or numbers of the range in the steps of these scores, those of
        the same level form one category, or those of the same part of a range without levels. The others
        have no place. So a few continuous scores are compared as many are.
        """
        scale = rubric.scale_of(criterion)
        scores: dict[tuple[str, Score], Score] = {}
        for score in (*_all_scores(scale), *filter(is_score, found)):
            scores.setdefault(likeness(score), score)
        levels = {key: rubric.level(criterion, score) for key, score in scores.items()}
        if len(scores) > MOST_SCORES or (
            isinstance(scale, RangeScale) and _in_steps(scale, scores.values()) > MOST_SCORES
        ):
            if isinstance(scale, RangeScale) and not scale.has_levels:
                return cls._by_part(scale, scores)
            return cls._by_level(levels)
        categories = {
            key: Category(
                format_score(score),
                levels[key],
                _rank(scale, score, levels[key]),
                json.dumps(score, ensure_ascii=False),
            )
            for key, score in scores.items()
        }
        # Python's sorting keeps the rubric's order where the ranks are the same.
        ordered = sorted(categories.items(), key=lambda item: (item[1].rank is None, -(item[1].rank or 0.0)))
        return cls(
            tuple(category for _, category in ordered), {key: place for place, (key, _) in enumerate(ordered)}
        )

    @classmethod
    def from_ratings(cls, rubric: Rubric, criterion: str | None, kinds: Iterable[_Rated]) -> Self:
        """Build the categories of ratings of a criterion, or of the verdict (None)."""
        if criterion is None:
            return cls.of_verdicts()
        return cls.from_scores(rubric, criterion, [one for kind in kinds for one in (kind.judge, kind.human)])

    @classmethod
    def of_verdicts(cls) -> Self:
        return cls(
            tuple(Category(word, level, RANKS[level], word) for level, word in VERDICT_OF_LEVEL.items()),
            {likeness(word): place for place, word in enumerate(VERDICT_OF_LEVEL.values())},
        )

    @classmethod
    def _by_level(cls, levels: dict[tuple[str, Score], Level | None]) -> Self:
        categories = tuple(Category(_COUNTS_AS[level], level, RANKS[level]) for level in LEVELS)
        return cls(categories, {key: LEVELS.index(level) for key, level in levels.items() if level})

    @classmethod
    def _by_part(cls, scale: RangeScale, scores: dict[tuple[str, Score], Score]) -> Self:
        width = (scale.maximum - scale.minimum) / PARTS
        ends = [scale.minimum + width * number for number in range(PARTS + 1)]
        parts = [Category(f"{low:g} to {high:g}", rank=scale.rank(low)) for low, high in pairwise(ends)]
        order = range(PARTS) if scale.lower_is_better else range(PARTS)[::-1]
        found = {key: scale.part_of(score, PARTS) for key, score in scores.items()}
        places = {key: order.index(part) for key, part in found.items() if part is not None}
        return cls(tuple(parts[part] for part in order), places)

    @property
    def has_parts(self) -> bool:
        """Whether the categories are parts of a range of numbers."""
        return bool(self.categories) and self.categories[0].is_part

    def is_same(self, one: Any, other: Any) -> bool:
        """Return whether two scores are in the same category, or alike without one."""
        first, second = self.place(one), self.place(other)
        return is_alike(one, other) if first is None and second is None else first == second

    def place(self, score: Any) -> int | None:
        """Return the index of a score's category, or None for a value without one."""
        return self.places.get(likeness(score)) if is_score(score) else None


def in_rubric_order(rubric: Rubric, found: Iterable[str | None]) -> list[str | None]:
    """Return the verdict (None), the criteria of the rubric, then other criteria by name."""
    known = {name: place for place, name in enumerate(rubric.names)}
    return sorted(found, key=lambda name: (name is not None, known.get(name or "", len(known)), name or ""))


def _all_scores(scale: Scale) -> Iterable[Score]:
    if isinstance(scale, RangeScale) and scale.is_integer and (scale.size or 0) <= MOST_SCORES:
        return range(int(scale.minimum), int(scale.maximum) + 1)
    return scale.buttons


def _in_steps(scale: RangeScale, scores: Iterable[Score]) -> int:
    """Count the numbers of a range in the widest equal steps from its minimum that meet these scores.

    Scores that are no numbers of the range do not count.
    """
    numbers = {number for score in scores if (number := scale.amount(score)) is not None}
    low, *others = (Fraction(repr(number)) for number in (scale.minimum, scale.maximum, *numbers))
    parts = lcm(*(number.denominator for number in (low, *others)))
    step = gcd(*(int((number - low) * parts) for number in others))
    return 1 + int((others[0] - low) * parts) // max(1, step)


def _rank(scale: Scale, score: Score, level: Level | None) -> float | None:
    """Rank a score by its scale: a number by its value, a value by its level if the scale has levels."""
    if isinstance(scale, ValueScale) and scale.has_levels:
        return RANKS[level] if level else None
    return scale.rank(score)
