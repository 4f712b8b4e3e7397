"""Compare the counts that triggers and jobs maintain with counts of the rows themselves."""

from collections.abc import Iterator

from django.db import transaction

from reviews.database.statements import fetch_all
from reviews.models import Run
from reviews.search import indexing

# Both queries of a pair must return the same rows.
_SUMS = {
    "records by status": (
        "SELECT run_id, status, sum(evaluations) FROM run_count GROUP BY 1, 2 HAVING sum(evaluations) <> 0",
        "SELECT run_id, human_review_status, count(*) FROM evaluation GROUP BY 1, 2",
    ),
    "overrides by day": (
        "SELECT run_id, reviewer_id, day, criterion, judged, overridden FROM criterion_day WHERE judged <> 0",
        """
        SELECT run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date, left(key, 200), count(*),
               count(*) FILTER (WHERE key = ANY(overridden))
        FROM review CROSS JOIN LATERAL jsonb_each(judged)
        WHERE NOT EXISTS (SELECT FROM withdrawal WHERE withdrawal.review_id = review.id)
        GROUP BY 1, 2, 3, 4
        """,
    ),
    "decisions by day": (
        """
        SELECT run_id, reviewer_id, day, decisions, changed FROM reviewer_day WHERE decisions <> 0
        """,
        """
        SELECT run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date, count(*),
               count(*) FILTER (WHERE changes > 0)
        FROM review
        WHERE origin = 'reviewer'
          AND NOT EXISTS (SELECT FROM withdrawal WHERE withdrawal.review_id = review.id)
        GROUP BY 1, 2, 3
        """,
    ),
    "records by day": (
        "SELECT run_id, reviewer_id, day, records FROM record_day WHERE records <> 0",
        """
        SELECT review.run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date, count(*)
        FROM review JOIN evaluation ON evaluation.review_id = review.id
        WHERE origin = 'reviewer' GROUP BY 1, 2, 3
        """,
    ),
    "assisted ratings": (
        """
        SELECT review_id, evaluation_id, reviewer_id, stratum_id, criterion, is_sampled
        FROM rating JOIN rating_cell ON rating_cell.id = cell_id WHERE NOT is_blind
        """,
        """
        SELECT review.id, review.evaluation_id, reviewer_id, stratum_id, criterion, review.is_sampled
        FROM review JOIN evaluation ON evaluation.review_id = review.id
        CROSS JOIN LATERAL score_pairs(judged, NULL, NULL, NULL)
        WHERE judged IS NOT NULL AND stratum_id IS NOT NULL AND blind_scores IS NULL
          AND counted_decision(review_id, human_review_status) IS NOT NULL
        """,
    ),
    "blind ratings": (
        """
        SELECT blind_scores_id, evaluation_id, reviewer_id, stratum_id, criterion, judge, human
        FROM rating JOIN rating_cell ON rating_cell.id = cell_id WHERE is_blind
        """,
        """
        SELECT id, evaluation_id, reviewer_id, stratum_id, criterion, judge, human
        FROM blind_scores CROSS JOIN LATERAL score_pairs(judged, judged_verdict, scores, verdict)
        WHERE id IN (SELECT blind_scores_id FROM rating)
        """,
    ),
    "decisions by reason": (
        """
        SELECT run_id, reviewer_id, family, reviews, timed, active_ms FROM reason_count WHERE reviews <> 0
        """,
        """
        SELECT review.run_id, reviewer_id, family, count(*), count(active_ms), coalesce(sum(active_ms), 0)
        FROM review JOIN evaluation ON counted_decision(review_id, human_review_status) = review.id
        CROSS JOIN LATERAL unnest(families) AS found (family) GROUP BY 1, 2, 3
        """,
    ),
    "causes": (
        "SELECT review_id, criterion, cause FROM cause_mention",
        """
        SELECT review.id, key, value
        FROM review JOIN evaluation ON counted_decision(review_id, human_review_status) = review.id
        CROSS JOIN LATERAL jsonb_each_text(review.causes)
        """,
    ),
    "records with facets": (
        "SELECT evaluation_id FROM evaluation_facets",
        "SELECT id FROM evaluation",
    ),
    "records with words": (
        "SELECT evaluation_id FROM evaluation_words",
        "SELECT id FROM evaluation",
    ),
}
# Rewritten completely at the end of an import.
_COUNTED = {
    "records by stratum": "SELECT stratum_id, verdict, evaluations, answered FROM stratum_count",
    "records by facet": "SELECT run_id, name, value, evaluations FROM facet_count",
}
_DIFFERENCE = "(({0}) EXCEPT ALL ({1})) UNION ALL (({1}) EXCEPT ALL ({0})) LIMIT 5"


def check_counts() -> Iterator[str]:
    """Yield a sentence for each kind of count that differs from the rows."""
    for what, (kept, counted) in _SUMS.items():
        differing = fetch_all(_DIFFERENCE.format(kept, counted))
        if differing:
            yield f"{what} differ from a recount: {differing}"
    before = _counted()
    with transaction.atomic():
        for run in Run.objects.all():
            indexing._update_counts(run)
        after = _counted()
        transaction.set_rollback(True)
    for what, rows in before.items():
        if rows != after[what]:
            yield f"{what} differ from a recount: {sorted(rows ^ after[what], key=str)[:5]}"


def _counted() -> dict[str, set[tuple[object, ...]]]:
    found = {}
    for what, statement in _COUNTED.items():
        found[what] = set(fetch_all(statement))
    return found
