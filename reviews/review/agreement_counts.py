"""Count which scores complete sets of independent reviews gave, to measure reviewer agreement."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from django.db import connection

from reviews.models import AgreementPattern, Evaluation, IndependentReview, Review, Run
from reviews.records.scores import is_score, score_of

#: Criterion (None for the verdict) -> sorted scores of all reviewers -> number of records.
Patterns = dict[str | None, dict[tuple[Any, ...], int]]

# An index key has at most 2,704 bytes, and a pattern has up to nine scores with up to six bytes a character.
_LONGEST_NAME, _LONGEST_SCORE = 200, 30
# Sorted, so that transactions lock rows in the same order. Grouped, because two shortened names may be equal
# and a statement can update a row only once.
_ADD = """
    INSERT INTO agreement_pattern AS counted (run_id, criterion, pattern, evaluations)
    SELECT %(run)s, criterion, pattern, %(sign)s * count(*)
    FROM unnest(%(criteria)s::text[], %(patterns)s::text[]) AS new (criterion, pattern)
    GROUP BY criterion, pattern ORDER BY criterion, pattern
    ON CONFLICT (run_id, criterion, pattern)
        DO UPDATE SET evaluations = counted.evaluations + excluded.evaluations
"""


def count(evaluation: Evaluation, given: Sequence[IndependentReview]) -> None:
    """Count a record's complete set of independent reviews. Earlier counts of the record are replaced.

    Call it last in a transaction: it locks rows that all reviewers of a run share.
    """
    uncount(evaluation)
    _add(evaluation.run_id, [one.review for one in given], 1)
    IndependentReview.objects.filter(pk__in=[one.pk for one in given]).update(is_counted=True)


def uncount(evaluation: Evaluation) -> None:
    """Remove a record from the counts, if it was counted."""
    counted = evaluation.independent_reviews.filter(is_counted=True)
    if reviews := [one.review for one in counted.select_related("review")]:
        _add(evaluation.run_id, reviews, -1)
        counted.update(is_counted=False)


def load_patterns(run: Run) -> Patterns:
    """Return the number of completely reviewed records with each pattern of scores.

    A pattern has at least two scores. A reviewer who excluded the criterion has none in it.
    """
    found: Patterns = {}
    rows = AgreementPattern.objects.filter(run=run, evaluations__gt=0).order_by("criterion", "pattern")
    for criterion, pattern, evaluations in rows.values_list("criterion", "pattern", "evaluations"):
        found.setdefault(criterion, {})[tuple(json.loads(pattern))] = evaluations
    return found


def _add(run_id: int, reviews: Sequence[Review], sign: int) -> None:
    found = list(_patterns(reviews))
    criteria, patterns = [criterion for criterion, _ in found], [pattern for _, pattern in found]
    with connection.cursor() as cursor:
        cursor.execute(_ADD, {"run": run_id, "sign": sign, "criteria": criteria, "patterns": patterns})


def _patterns(reviews: Sequence[Review]) -> Iterator[tuple[str | None, str]]:
    names = {name: None for review in reviews for name in review.corrected_scores or {}}
    for name in names:
        scores = (score_of((review.corrected_scores or {}).get(name)) for review in reviews)
        given = [_normalised(score) for score in scores if is_score(score)]
        if len(given) > 1:
            yield name[:_LONGEST_NAME], _encoded(given)
    verdicts = [review.verdict for review in reviews if review.verdict]
    if len(verdicts) > 1:
        yield None, _encoded(verdicts)


def _normalised(score: Any) -> Any:
    """Return one value for equal scores, such as 4 and 4.0, and shorten long texts without collisions."""
    if isinstance(score, str) and len(score) > _LONGEST_SCORE:
        return f"{score[: _LONGEST_SCORE - 10]} {sha256(score.encode()).hexdigest()[:8]}…"
    return int(score) if isinstance(score, float) and score.is_integer() else score


def _encoded(scores: Iterable[Any]) -> str:
    return json.dumps(sorted(scores, key=json.dumps), ensure_ascii=False)
