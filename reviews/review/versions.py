"""Create the versions of a record's decision."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists
from django.db.models.expressions import Combinable
from django.utils import timezone

from reviews.database.statements import fetch_all
from reviews.models import Evaluation, FileConflict, Review, User
from reviews.records.conflicts import Conflict
from reviews.records.scores import is_score, likeness, score_of
from reviews.review import blind_scoring
from reviews.review.entries import Decision
from reviews.rubric.overrides import compare_with_judge
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import lock_rubric, run_rubric
from reviews.search import strata

# One query, because a reviewer waits for it.
_BASIS = """
    SELECT EXISTS (SELECT FROM review WHERE submission = %(submission)s),
           EXISTS (SELECT FROM draft WHERE evaluation_id = %(evaluation)s AND reviewer_id = %(reviewer)s),
           ARRAY(SELECT id FROM independent_review
                 WHERE evaluation_id = %(evaluation)s AND is_open ORDER BY id),
           (SELECT count(*) FROM review WHERE evaluation_id = %(evaluation)s),
           (SELECT scores::text FROM blind_scores
            WHERE evaluation_id = %(evaluation)s AND reviewer_id = %(reviewer)s
              AND source_import_id = %(import)s AND source_line = %(line)s),
           (SELECT id FROM stratum
            WHERE run_id = %(run)s AND judge_llm_model = %(judge)s AND model_id = %(model)s
              AND judge_prompt_template_path = %(template)s AND is_flagged = %(is_flagged)s),
           (SELECT rubric::text FROM run WHERE id = %(run)s)
"""


class Basis(NamedTuple):
    """The rows of a locked record that a new version depends on."""

    #: Whether an earlier request had this submission key: see `sent_before`.
    is_repeated: bool
    #: Whether the reviewer has a draft of the record.
    has_draft: bool
    #: The keys of the open independent reviews.
    open_reviews: list[int]
    #: Number of earlier versions.
    versions: int
    #: The scores that the reviewer locked in.
    blind_scores: dict[str, Any] | None
    #: The key of the record's stratum; None for the first record of a stratum.
    stratum: int | None


def load_basis(evaluation: Evaluation, reviewer: User, submission: UUID) -> Basis:
    """Load the basis of a new version of a locked record, and its rubric as `hold_rubric` does. One query."""
    lock_rubric(evaluation.run)
    values: dict[str, Any] = {
        "submission": submission,
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
    [row] = fetch_all(_BASIS, values)
    is_repeated, has_draft, open_reviews, versions, blind_scores, stratum, rubric = row
    evaluation.run.rubric = json.loads(rubric)
    locked_in = None if blind_scores is None else json.loads(blind_scores)
    return Basis(is_repeated, has_draft, open_reviews, versions, locked_in, stratum)


def add(
    evaluation: Evaluation,
    reviewer: User,
    submission: UUID,
    decision: Decision,
    *,
    escalation: int | None = None,
    independent_reviews: Sequence[int] = (),
    basis: Basis | None = None,
) -> Review:
    """Create the next version of a record's decision.

    `escalation` and `independent_reviews` are keys of rows that the decision closes. Undo reopens them.
    `basis` is loaded unless the caller has it.
    """
    judged, scores, causes = decision.get("judged"), decision["scores"], decision.get("causes", {})
    basis = basis or load_basis(evaluation, reviewer, submission)
    rubric = run_rubric(evaluation.run)
    compared = compare_with_judge(judged, scores, causes, rubric, evaluation.aggregated_score)
    before = _state_to_restore(evaluation, escalation, independent_reviews)
    return Review.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        version=basis.versions + 1,
        reviewer=reviewer,
        submitted_at=timezone.now(),
        corrected_scores=dict(scores) or None,
        comments=decision["comments"] or None,
        origins=dict(decision["origins"]),
        causes=dict(causes),
        extractor=decision.get("extractor"),
        active_ms=decision.get("active_ms"),
        keys=decision.get("keys"),
        words=decision.get("words"),
        judged=dict(judged) if judged is not None else None,
        overridden=compared.overridden,
        changes=compared.changes,
        judged_verdict=compared.judged_verdict,
        verdict=compared.verdict,
        stratum_id=basis.stratum or strata.get_stratum(evaluation).pk,
        families=blind_scoring.families(evaluation),
        is_sampled=evaluation.is_sampled,
        blind_scores=basis.blind_scores,
        blind_verdict=None if basis.blind_scores is None else rubric.aggregate(basis.blind_scores),
        submission=submission,
        guideline_version=evaluation.run.guideline_version,
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        before=before,
    )


def _state_to_restore(
    evaluation: Evaluation, escalation: int | None, independent_reviews: Sequence[int]
) -> dict[str, Any]:
    """Return the values that undoing the next decision restores."""
    state = evaluation.human | {
        "review": evaluation.review_id,
        "is_outdated": evaluation.is_outdated,
        "escalation": escalation,
    }
    return state | ({"independent_reviews": [*independent_reviews]} if independent_reviews else {})


def is_sent(submission: UUID | Combinable) -> Exists:
    """Return the expression for whether a request had this submission key: see `sent_before`."""
    return Exists(Review.objects.filter(submission=submission))


def sent_before(submission: UUID, evaluation: Evaluation, reviewer: User) -> Review | None:
    """Return the review of an earlier request with this submission key.

    Raises `Conflict` if that review is of another record or another reviewer.
    """
    review = Review.objects.filter(submission=submission).first()
    if review is None:
        return None
    if (review.evaluation_id, review.reviewer_id) != (evaluation.pk, reviewer.pk):
        raise Conflict("This form was sent before, for another record. Open the record again.")
    return review


def confirms_judge(evaluation: Evaluation, review: Review) -> bool:
    """Return whether the record is a random sample, and the review keeps the judge's scores and texts.

    Comments do not count as a change: they are stored with the review. A review without scores keeps all.
    """
    if not evaluation.is_sampled:
        return False
    scores = review.corrected_scores or {}
    proposals = read_proposals(evaluation, run_rubric(evaluation.run))
    given = {proposal.criterion: proposal.given for proposal in proposals}
    return not scores or (review.changes == 0 and all(given.get(name) == scores[name] for name in scores))


def have_same_scores(reviews: Iterable[Review]) -> bool:
    """Return whether all reviews have the same criteria and scores."""
    first, *others = (comparable_scores(review) for review in reviews)
    return all(other == first for other in others)


def comparable_scores(review: Review) -> dict[str, Any]:
    """Return the scores of a version in a form that is equal for scores that mean the same."""
    scores = {name: score_of(entry) for name, entry in (review.corrected_scores or {}).items()}
    return {name: likeness(score) if is_score(score) else score for name, score in scores.items()}


def add_from_file(
    *, evaluation: Evaluation, human: Mapping[str, Any], actor: User, conflict: FileConflict | None
) -> Review:
    """Create the next version of a record's decision from the human_* values of a file."""
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
