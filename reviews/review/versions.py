"""A decision as the row that keeps it: what was decided, on what, and how it compares with the judge's."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.utils import timezone

from reviews.models import Evaluation, FileConflict, Review, User
from reviews.records import reason_families
from reviews.records.conflicts import Conflict
from reviews.review.decision import Decision
from reviews.rubric.definition import run_rubric
from reviews.rubric.overrides import compare_with_judge
from reviews.rubric.proposals import read_proposals
from reviews.search import strata

# What a new version builds on, asked at once: somebody waits for each question.
_GROUND = """
    SELECT (SELECT count(*) FROM review WHERE evaluation_id = %(evaluation)s),
           (SELECT scores::text FROM blind_scores
            WHERE evaluation_id = %(evaluation)s AND reviewer_id = %(reviewer)s
              AND source_import_id = %(import)s AND source_line = %(line)s),
           (SELECT id FROM stratum
            WHERE run_id = %(run)s AND judge_llm_model = %(judge)s AND model_id = %(model)s
              AND judge_prompt_template_path = %(template)s AND is_flagged = %(is_flagged)s)
"""


class _Ground(NamedTuple):
    """How many versions there are, what the reviewer committed blind, and the key of the record's stratum."""

    versions: int
    blind_scores: dict[str, Any] | None
    stratum: int


def _ground(evaluation: Evaluation, reviewer: User) -> _Ground:
    values: dict[str, Any] = {
        "evaluation": evaluation.pk,
        "reviewer": reviewer.pk,
        "import": evaluation.source_import_id,
        "line": evaluation.source_line,
        "run": evaluation.run_id,
        "judge": evaluation.judge_llm_model,
        "template": evaluation.judge_prompt_template_path,
        "model": evaluation.model_id or "",
        "is_flagged": evaluation.needs_human_review,
    }
    with connection.cursor() as cursor:
        cursor.execute(_GROUND, values)
        [(versions, blind_scores, stratum)] = cursor.fetchall()
    committed = None if blind_scores is None else json.loads(blind_scores)
    return _Ground(versions, committed, stratum or strata.get_stratum(evaluation).pk)


def add(
    evaluation: Evaluation,
    reviewer: User,
    submission: UUID,
    decision: Decision,
    *,
    escalation: int | None = None,
    independent_reviews: Sequence[int] = (),
) -> Review:
    """The next version of a record's decision.

    `escalation` and `independent reviews` are the keys of those that it settles, for undo.
    """
    judged, scores, causes = decision.get("judged"), decision["scores"], decision.get("causes", {})
    rule = run_rubric(evaluation.run).rule
    compared = compare_with_judge(judged, scores, causes, rule, evaluation.aggregated_score)
    ground = _ground(evaluation, reviewer)
    committed = ground.blind_scores
    stood: dict[str, Any] = {"review": evaluation.review_id, "is_outdated": evaluation.is_outdated}
    stood["escalation"] = escalation
    if independent_reviews:
        stood["independent_reviews"] = [*independent_reviews]
    return Review.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        version=ground.versions + 1,
        reviewer=reviewer,
        submitted_at=timezone.now(),
        # An entry that came with a file may be of any shape.
        corrected_scores=dict(scores) or None,
        comments=decision["comments"] or None,
        origins=dict(decision["origins"]),
        causes=dict(causes),
        extractor=decision.get("extractor"),
        active_ms=decision.get("active_ms"),
        keys=decision.get("keys"),
        words=decision.get("words"),
        judged=dict(judged) if judged is not None else None,
        changes=compared.changes,
        judged_verdict=compared.judged_verdict,
        verdict=compared.verdict,
        stratum_id=ground.stratum,
        families=sorted(
            {reason_families.reason_family(str(reason)).key for reason in evaluation.review_reasons}
        ),
        is_sampled=evaluation.is_sampled,
        blind_scores=committed,
        blind_verdict=None if committed is None else rule.aggregate(committed.values()),
        submission=submission,
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        before=evaluation.human | stood,
    )


def sent_before(submission: UUID, evaluation: Evaluation, reviewer: User) -> Review | None:
    """The review that this submission made already. Raises `Conflict` if that is not of this record."""
    sent = Review.objects.filter(submission=submission)
    if not sent.exists():
        return None
    review = sent.get()
    if (review.evaluation_id, review.reviewer_id) != (evaluation.pk, reviewer.pk):
        raise Conflict("This form was sent before, for another record. Open the record again.")
    return review


def confirms_judge(evaluation: Evaluation, review: Review) -> bool:
    """Whether a record was drawn to be reviewed, and the review leaves all that the judge said as it is.

    A comment is no correction: it tells why somebody agrees, and is kept with the review. Nor is it one that
    nobody can judge the record.
    """
    if not evaluation.is_sampled:
        return False
    scores = review.corrected_scores or {}
    given = {
        proposal.criterion: proposal.given
        for proposal in read_proposals(evaluation, run_rubric(evaluation.run))
    }
    return not scores or (review.changes == 0 and all(given.get(name) == scores[name] for name in scores))


def add_from_file(
    evaluation: Evaluation, human: Mapping[str, Any], actor: User, conflict: FileConflict | None
) -> Review:
    """The next version of a record's decision, as a file has it."""
    scores = human["human_corrected_scores"]
    return Review.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        version=evaluation.reviews.count() + 1,
        reviewer=actor,
        submitted_at=timezone.now(),
        corrected_scores=scores,
        comments=human["human_review_comments"],
        origins=dict.fromkeys(scores or (), "file"),
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        conflict=conflict,
        origin=Review.Origin.FILE,
    )
