"""Create the blind scores of a record, with the judge's scores and the sampling probability at the time."""

from collections.abc import Mapping
from typing import Any

from reviews.models import BlindScores, Evaluation, Run, Stratum, User
from reviews.records.reason_families import reason_family
from reviews.records.scores import is_score
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import hold_rubric, run_rubric
from reviews.search import strata


def add(
    evaluation: Evaluation, reviewer: User, scores: Mapping[str, Any], *, active_ms: int | None = None
) -> BlindScores:
    """Store scores, criterion -> score, that a reviewer gave before the judge's were shown.

    A trigger adds the ratings (`ratings.sql`).
    """
    hold_rubric(evaluation.run)
    row = build(evaluation, reviewer, scores, strata.get_stratum(evaluation), active_ms=active_ms)
    row.save(force_insert=True)
    return row


def build(
    evaluation: Evaluation,
    reviewer: User,
    scores: Mapping[str, Any],
    stratum: Stratum,
    *,
    active_ms: int | None = None,
) -> BlindScores:
    """Return the unsaved row of scores, criterion -> score, of a record in a stratum."""
    rubric = run_rubric(evaluation.run)
    judged = {one.criterion: one.score for one in read_proposals(evaluation, rubric) if is_score(one.score)}
    return BlindScores(
        evaluation=evaluation,
        reviewer=reviewer,
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        scores=dict(scores),
        verdict=rubric.aggregate(scores),
        active_ms=active_ms,
        stratum=stratum,
        judged=judged,
        judged_verdict=rubric.judge_verdict(evaluation.aggregated_score, judged),
        is_sampled=evaluation.is_sampled,
        probability=inclusion_probability(evaluation, evaluation.run),
        families=families(evaluation),
        guideline_version=evaluation.run.guideline_version,
    )


def inclusion_probability(evaluation: Evaluation, run: Run) -> float:
    """Return the probability with which the record was drawn for review and is scored blind, above 0.

    Flagged records are all reviewed. The blind share is that of the moment: a record that was served before
    the share changed had another chance.
    """
    return (evaluation.sample_probability or 1.0) * (run.blind_share or 1.0)


def families(evaluation: Evaluation) -> list[str]:
    """Return the keys of the families of the record's flag reasons, sorted."""
    return sorted({reason_family(str(reason)).key for reason in evaluation.review_reasons})
