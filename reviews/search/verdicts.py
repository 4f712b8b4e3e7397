"""The judge's verdict on each record of a list: the same that the page of the record shows."""

from typing import Any

from django.db.models import Case, F, Func, JSONField, Q, QuerySet, When

from reviews.models import Evaluation
from reviews.records.rubric import VERDICT_OF_LEVEL, Rubric, Verdict
from reviews.search import facets


class _JudgedScores(Func):
    """The judge's scores by criterion, without the justifications, which may be long.

    Equals the SQL function `judged_scores`, which takes twice as long. It is called only for records without
    parsed scores, and for scores that it cuts.
    """

    template = """(
        SELECT CASE WHEN parsed = '{}' THEN judged_scores(parsed, extracted)::text ELSE (
            SELECT json_object_agg(
                key,
                CASE WHEN jsonb_typeof(score) NOT IN ('object', 'array') AND pg_column_size(score) < 1000
                THEN score
                ELSE judged_scores(jsonb_build_object('it', jsonb_build_object('score', score)), NULL) -> 'it'
                END
            )::text
            FROM (
                SELECT key,
                       CASE jsonb_typeof(value) WHEN 'object' THEN value -> 'score' ELSE value END AS score
                FROM jsonb_each(parsed) OFFSET 0
            ) AS judged
        ) END
        FROM (SELECT %(expressions)s) AS record (parsed, extracted)
    )"""
    output_field = JSONField()


# The judge's verdict follows from its scores.
_IS_COMPUTED = Q(aggregated_score=None) | ~Q(aggregated_score__in=[*VERDICT_OF_LEVEL.values()])


def with_judged_scores(rows: "QuerySet[Evaluation]", *, of_all: bool = True) -> "QuerySet[Evaluation]":
    """Annotate records with what `judge_verdict` needs, without loading large columns.

    Not `of_all`, only records whose verdict is computed have the judge's scores.
    """
    scores: Any = _JudgedScores(F("parsed_rubric_scores"), F("extracted_scores"))
    if not of_all:
        scores = Case(When(_IS_COMPUTED, then=scores), output_field=JSONField())
    return rows.annotate(judged_scores=scores)


def judge_verdict(record: Evaluation, rubric: Rubric) -> Verdict | None:
    """Return the judge's verdict on a record by the rubric of its run; None without one."""
    if "judged_scores" in record.__dict__:
        return rubric.judge_verdict(record.aggregated_score, record.__dict__["judged_scores"] or {})
    judged = {one.criterion: one.score for one in facets.judged_criteria(record)}
    return rubric.judge_verdict(record.aggregated_score, judged)
