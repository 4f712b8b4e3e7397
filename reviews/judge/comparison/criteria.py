"""Compare the scores of two judges for each criterion on the same responses."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from django.db import connection

from cognireview.types.judge import CriterionComparison
from reviews.judge.cells import FEWEST
from reviews.judge.comparison.matches import Matches, RatedRecords, concatenate, fetch_ratings, unpack_ratings
from reviews.judge.scope import JudgeScope
from reviews.records.scores import is_score, likeness, read_score
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics import paired
from reviews.statistics.intervals import holm
from reviews.statistics.paired import PairedRatings
from reviews.statistics.score_categories import ScoreCategories
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray

# Cut like the scores of ratings: see `ratings.sql`.
_SCORES = """
    SELECT left(key, 200), left(value::text, 200), array_agg(evaluation.id)
    FROM evaluation CROSS JOIN LATERAL jsonb_each(judged_scores(parsed_rubric_scores, extracted_scores))
    WHERE evaluation.id = ANY(%(records)s) GROUP BY 1, 2
"""


def compare_criteria(
    scopes: tuple[JudgeScope, JudgeScope], found: Matches, hidden: BoolArray
) -> list[CriterionComparison]:
    """Compare the scores of each criterion that both judges and a blind rating scored.

    `hidden` says which responses have a record that somebody may still score blind. They are left out if a
    figure could reveal a score.
    """
    codes, rubric = _Codes(), run_rubric(scopes[1].run)
    rated = _load_ratings(scopes, codes)
    judged = _load_scores(found, codes)
    both = rated.keys() & judged.keys()
    in_order = dict.fromkeys([*rubric.names, *run_rubric(scopes[0].run).names, *sorted(both)])
    names = [name for name in in_order if name in both]
    compared = []
    for name in names:
        used = np.union1d(rated[name].human, judged[name][1])
        groups = codes.groups(ScoreCategories.from_scores(rubric, name, codes.scores(used)))
        ratings = _with_right(found.rated_by(rated[name]), judged[name], groups)
        if _would_reveal(ratings, hidden):
            shown: BoolArray = ~hidden[ratings.response]
            ratings = ratings.only(shown)
        first, second, change = paired.compare_scores(found.responses, ratings)
        if change.difference.value is not None:
            compared.append(CriterionComparison(name, first, second, change.difference, change.p))
    adjusted = holm([one.p for one in compared])
    return [replace(one, p=p) for one, p in zip(compared, adjusted, strict=True)]


class _Codes(dict[Any, int]):
    """Numbers scores, so that equal ones have the same number."""

    def code_of(self, text: str | None) -> int:
        score = read_score(text)
        return self.setdefault(likeness(score), len(self)) if is_score(score) else -1

    def scores(self, numbers: IntArray) -> list[Any]:
        known = [score for _, score in self]
        return [known[number] for number in numbers.tolist()]

    def groups(self, categories: ScoreCategories) -> IntArray:
        """Return a number for each score, which is equal for scores of one category."""
        places = [categories.place(score) for _, score in self]
        groups = [number if place is None else len(self) + place for number, place in enumerate(places)]
        return np.array(groups, dtype=np.int64)


#: Of a criterion: the keys of records, sorted, and the numbers of their scores.
_Scores = tuple[IntArray, IntArray]


def _load_ratings(scopes: tuple[JudgeScope, JudgeScope], codes: _Codes) -> dict[str, RatedRecords]:
    """Load the blind ratings of each criterion for which the judge has a score."""
    found: dict[str, list[RatedRecords]] = defaultdict(list)
    for criterion, judge, human, packed in fetch_ratings(scopes, of_verdict=False):
        number = codes.code_of(human)
        if number >= 0 and codes.code_of(judge) >= 0:
            found[criterion].append(unpack_ratings(bytes(packed), number))
    return {criterion: concatenate(parts) for criterion, parts in found.items()}


def _load_scores(found: Matches, codes: _Codes) -> dict[str, _Scores]:
    """Load the judges' scores of the responses with ratings."""
    is_rated = np.zeros(len(found.responses), dtype=np.bool_)
    is_rated[found.response] = True
    records = np.concatenate(
        [side.record[is_rated[places]] for side, places in zip(found.sides, found.places, strict=True)]
    )
    parts: dict[str, list[tuple[int, list[int]]]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SCORES, {"records": records.tolist()})
        for criterion, text, keys in cursor:
            if (number := codes.code_of(text)) >= 0:
                parts[criterion].append((number, keys))
    return {criterion: _sorted(numbered) for criterion, numbered in parts.items()}


def _sorted(numbered: list[tuple[int, list[int]]]) -> _Scores:
    record = np.concatenate([np.array(keys, dtype=np.int64) for _, keys in numbered])
    number = np.repeat([number for number, _ in numbered], [len(keys) for _, keys in numbered])
    order = np.argsort(record)
    return record[order], number[order]


def _with_right(found: Matches, scores: _Scores, groups: IntArray) -> PairedRatings:
    """Return the ratings with the share of each judge's records whose score is right: of the same group.

    Ratings are left out if no record of a judge has a score.
    """
    pairs, human = found.pairs, found.ratings.human
    right, scored = np.zeros((2, len(human), 2))
    for side, places in enumerate((pairs.first, pairs.second)):
        record, number = scores
        keys = found.sides[side].record[places]
        at = np.minimum(np.searchsorted(record, keys), len(record) - 1)
        has_score = record[at] == keys
        is_right = has_score & (groups[number[at]] == groups[human[pairs.rating]])
        right[:, side] = np.bincount(pairs.rating, is_right, minlength=len(human))
        scored[:, side] = np.bincount(pairs.rating, has_score, minlength=len(human))
    kept: BoolArray = np.all(scored > 0, axis=1)
    ratings = PairedRatings(
        found.response, found.frame, found.ratings.weight, found.ratings.raters, right / np.maximum(1, scored)
    )
    return ratings.only(kept)


def _would_reveal(ratings: PairedRatings, hidden: BoolArray) -> bool:
    """Return whether figures could reveal a judge's score: few hidden ratings are right, or few wrong."""
    right = ratings.right[hidden[ratings.response]]
    numbers = [*(right > 0).sum(axis=0), *(right < 1).sum(axis=0)]
    return any(0 < number < FEWEST for number in numbers)
