"""Count which scores complete sets of independent reviews gave, to measure reviewer agreement."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from django.db import connection

from reviews.models import AgreementPattern, Evaluation, IndependentReview, Review, Run
from reviews.records.scores import is_score, score_of

# The scores of one criterion by several people, in whatever order; None stands for the verdict.
Patterns = dict[str | None, dict[tuple[Any, ...], int]]

# A pattern of nine scores is part of a key, for which an index has 2,704 bytes; a character takes up to six.
_LONGEST_NAME, _LONGEST_SCORE = 200, 30
# In the order of the rows, so that no two transactions wait for each other. Two long names may begin alike,
# and a statement can count a row only once.
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

    It writes rows that all reviewers of a run share, so it comes last in a transaction.
    """
    uncount(evaluation)
    _add(evaluation.run_id, [independent_review.review for independent_review in given], 1)
    IndependentReview.objects.filter(pk__in=[independent_review.pk for independent_review in given]).update(
        is_counted=True
    )


def uncount(evaluation: Evaluation) -> None:
    """Remove a record from the counts: its set of independent reviews is no longer complete."""
    counted = evaluation.independent_reviews.filter(is_counted=True).select_related("review")
    reviews = [independent_review.review for independent_review in counted]
    if reviews:
        _add(evaluation.run_id, reviews, -1)
        evaluation.independent_reviews.filter(is_counted=True).update(is_counted=False)


def load_patterns(run: Run) -> Patterns:
    """Return how many completely reviewed records got which scores, by criterion.

    A criterion that somebody left out has fewer scores there than there were people, but two at least.
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
        given = [_shown(score) for score in scores if is_score(score)]
        if len(given) > 1:
            yield name[:_LONGEST_NAME], _spelled(given)
    verdicts = [review.verdict for review in reviews if review.verdict]
    if len(verdicts) > 1:
        yield None, _spelled(verdicts)


def _shown(score: Any) -> Any:
    """A score so that the same one is spelled the same, 4 and 4.0 too, and no other one."""
    if isinstance(score, str) and len(score) > _LONGEST_SCORE:
        return f"{score[: _LONGEST_SCORE - 10]} {sha256(score.encode()).hexdigest()[:8]}…"
    return int(score) if isinstance(score, float) and score.is_integer() else score


def _spelled(scores: Iterable[Any]) -> str:
    return json.dumps(sorted(scores, key=json.dumps), ensure_ascii=False)
