"""Compute the verdicts of ratings again, after the rubric of their run has changed."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from django.db import connection

from reviews.database.statements import execute
from reviews.models import Evaluation, Run
from reviews.records.rubric import VERDICT_OF_LEVEL, Rubric
from reviews.rubric.run_rubric import hold_rubric, run_rubric

# The ratings of verdicts, with the scores of the judge and of the person, and those after the reveal.
_LOAD = """
    SELECT rating.evaluation_id, rating.blind_scores_id, rating.review_id,
           evaluation.aggregated_score = ANY(%(verdicts)s),
           coalesce(given.judged, decision.judged)::text, given.scores::text,
           CASE WHEN given.id IS NULL THEN decision.corrected_scores ELSE final.corrected_scores END::text,
           coalesce(cell.judge, ''), coalesce(cell.human, ''), rating.final
    FROM rating JOIN rating_cell AS cell ON cell.id = rating.cell_id
    JOIN stratum ON stratum.id = cell.stratum_id
    JOIN evaluation ON evaluation.id = rating.evaluation_id
    LEFT JOIN blind_scores AS given ON given.id = rating.blind_scores_id
    LEFT JOIN review AS decision ON decision.id = rating.review_id
    LEFT JOIN LATERAL (
        SELECT corrected_scores FROM review
        WHERE review.evaluation_id = rating.evaluation_id AND review.reviewer_id = rating.reviewer_id
          AND review.blind_scores IS NOT NULL AND rating.final IS NOT NULL
        ORDER BY version DESC LIMIT 1
    ) AS final ON true
    WHERE stratum.run_id = %(run)s AND cell.criterion IS NULL
"""
_OF_RECORD = "AND rating.evaluation_id = %(record)s"
_CHANGED = """
    unnest(%(records)s::bigint[], %(blind)s::bigint[], %(reviews)s::bigint[], %(judges)s::text[],
           %(humans)s::text[], %(finals)s::text[])
        AS changed (record, of_blind_scores, of_review, judge, human, final)
    JOIN rating ON rating.evaluation_id = record
        AND (rating.blind_scores_id = of_blind_scores OR rating.review_id = of_review)
    JOIN rating_cell AS cell ON cell.id = rating.cell_id
"""
# The cell that a rating belongs to now.
_TARGET = """
    cell.stratum_id, cell.criterion, changed.judge, cell.is_blind, cell.is_sampled,
    CASE WHEN cell.criterion IS NULL THEN nullif(changed.judge, '') ELSE cell.judge END,
    CASE WHEN cell.criterion IS NULL THEN nullif(changed.human, '') ELSE cell.human END
"""
_ADD_CELLS = f"""
    INSERT INTO rating_cell (stratum_id, criterion, verdict, is_blind, is_sampled, judge, human)
    SELECT DISTINCT {_TARGET} FROM {_CHANGED} ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT DO NOTHING
"""  # noqa: S608 (constants)
_MOVE = f"""
    UPDATE rating SET cell_id = target.id, final = moved.final
    FROM (
        SELECT rating.id, CASE WHEN cell.criterion IS NULL THEN changed.final ELSE rating.final END AS final,
               {_TARGET}
        FROM {_CHANGED}
    ) AS moved (id, final, stratum, criterion, verdict, is_blind, is_sampled, judge, human)
    JOIN rating_cell AS target ON target.stratum_id = stratum AND target.verdict = moved.verdict
        AND target.criterion IS NOT DISTINCT FROM moved.criterion AND target.is_blind = moved.is_blind
        AND target.is_sampled = moved.is_sampled AND target.judge IS NOT DISTINCT FROM moved.judge
        AND target.human IS NOT DISTINCT FROM moved.human
    WHERE rating.id = moved.id
"""  # noqa: S608 (constants)


class _Rated(NamedTuple):
    """A rating of the verdict. Scores are JSON texts; a verdict is empty if there was none."""

    record: int
    #: The key of its blind scores, or None.
    blind_scores: int | None
    #: The key of its decision, or None.
    review: int | None
    #: Whether the verdict of the record is in its file, and does not follow from the scores.
    has_verdict: bool
    judged: str | None
    #: Criterion -> score, of a blind rating.
    given: str | None
    #: Criterion -> entry, of the decision: the only one, or the one after the reveal.
    decided: str | None
    judge: str
    human: str
    #: None without a decision after the reveal.
    final: str | None


def rate_earlier_decision(evaluation: Evaluation) -> None:
    """Compute the verdicts of a locked record's ratings after an earlier decision became current.

    Its rating has the verdicts that were saved with the decision. The rubric may have changed since.
    """
    hold_rubric(evaluation.run)
    rate_again(evaluation.run, record=evaluation.pk)


def rate_again(run: Run, *, record: int | None = None) -> int:
    """Compute the verdicts of ratings by the rubric of their run. Returns the number of ratings that changed.

    A rating of the verdict compares the verdicts that the scores of the judge and of a person make by the
    rubric. If only later ratings followed a new rule, figures would mix two rules. Decisions keep their
    verdicts. With `record`, the key of a record, only its ratings change.
    """
    changed = [*_changed(run, run_rubric(run), record)]
    if changed:
        values: dict[str, Any] = {
            "records": [rated.record for rated in changed],
            "blind": [rated.blind_scores for rated in changed],
            "reviews": [rated.review for rated in changed],
            "judges": [rated.judge for rated in changed],
            "humans": [rated.human for rated in changed],
            "finals": [rated.final for rated in changed],
        }
        execute(_ADD_CELLS, values)
        execute(_MOVE, values)
    return len(changed)


def _changed(run: Run, rubric: Rubric, record: int | None) -> Iterator[_Rated]:
    """Yield the ratings whose verdicts differ by the rubric, with their new verdicts."""

    @lru_cache(maxsize=10_000)
    def verdict(scores: str | None) -> str:
        return rubric.aggregate(orjson.loads(scores or "{}")) or ""

    with connection.cursor() as cursor:
        values: dict[str, Any] = {"run": run.pk, "verdicts": [*VERDICT_OF_LEVEL.values()], "record": record}
        cursor.execute(_LOAD if record is None else f"{_LOAD} {_OF_RECORD}", values)
        for row in cursor:
            rated = _Rated(*row)
            decided = rubric.verdict(orjson.loads(rated.decided or "{}")) or ""
            rated_again = rated._replace(
                judge=rated.judge if rated.has_verdict else verdict(rated.judged),
                human=decided if rated.given is None else verdict(rated.given),
                final=None if rated.final is None else decided,
            )
            if rated_again != rated:
                yield rated_again
