"""Arrange scores as ordered categories for agreement figures."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from reviews.records.scores import Score, format_score, identity, is_score
from reviews.records.verdict import LEVELS, VERDICT_OF_LEVEL, Level
from reviews.rubric.definition import Rubric
from reviews.statistics.agreement import Category

# With more scores than this, a table shows their levels instead.
MOST_SCORES = 15
RANKS: dict[Level, float] = {level: rank for rank, level in enumerate(reversed(LEVELS))}
_COUNTS_AS: dict[Level, str] = {"yes": "counts as Yes", "partial": "counts as Partial", "no": "counts as No"}


@dataclass(frozen=True, slots=True)
class Scale:
    """The scores of a criterion, or the verdicts, as categories, best first."""

    categories: tuple[Category, ...]
    places: dict[tuple[str, Score], int]

    @classmethod
    def from_scores(cls, rubric: Rubric, found: Iterable[Any]) -> Self:
        """Build the scale of a run's scores and of other scores that were found, given as JSON values.

        With more than `MOST_SCORES` scores, those of the same level form one category, and those without a
        level have no place.
        """
        scores: dict[tuple[str, Score], Score] = {}
        for score in (*rubric.scores, *filter(is_score, found)):
            scores.setdefault(identity(score), score)
        if len(scores) > MOST_SCORES:
            return cls._by_level(rubric, scores)
        rank = _Ranking(rubric)
        categories = {
            key: Category(format_score(score), rubric.rule.level(score), rank.rank_of(score), _json(score))
            for key, score in scores.items()
        }
        # Python's sorting keeps the rubric's order where the ranks are the same.
        ordered = sorted(categories.items(), key=lambda item: _best_first(item[1].rank))
        return cls(
            tuple(category for _, category in ordered), {key: place for place, (key, _) in enumerate(ordered)}
        )

    @classmethod
    def of_verdicts(cls) -> Self:
        return cls(
            tuple(Category(word, level, RANKS[level], word) for level, word in VERDICT_OF_LEVEL.items()),
            {identity(word): place for place, word in enumerate(VERDICT_OF_LEVEL.values())},
        )

    @classmethod
    def _by_level(cls, rubric: Rubric, scores: dict[tuple[str, Score], Score]) -> Self:
        categories = tuple(Category(_COUNTS_AS[level], level, RANKS[level]) for level in LEVELS)
        levels = {key: rubric.rule.level(score) for key, score in scores.items()}
        return cls(categories, {key: LEVELS.index(level) for key, level in levels.items() if level})

    def place(self, score: Any) -> int | None:
        """Return the index of a score's category, or None for a value without one."""
        return self.places.get(identity(score)) if is_score(score) else None


class _Ranking:
    """Rank scores: by number if all scores of the run are numbers, otherwise by level.

    A lower number is better if the rubric lists the lowest one first.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._rule = rubric.rule
        self._sign = 0
        if all(map(_is_number, rubric.scores)):
            first, last = float(rubric.scores[0]), float(rubric.scores[-1])
            self._sign = -1 if first < last and rubric.rule.kind == "worst" else 1

    def rank_of(self, score: Score) -> float | None:
        if self._sign:
            return self._sign * float(score) if _is_number(score) else None
        level = self._rule.level(score)
        return RANKS[level] if level else None


def _is_number(score: Score) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool)


def _json(score: Score) -> str:
    return json.dumps(score, ensure_ascii=False)


def _best_first(rank: float | None) -> tuple[bool, float]:
    return rank is None, -(rank or 0.0)
