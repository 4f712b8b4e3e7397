"""Common steps of tests: fill a run's queue, decide a record, let a claim expire."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.utils import timezone

from reviews.models import BlindScores, Evaluation, Reveal, Review, Run, Stratum, User
from reviews.queue import claims
from reviews.review import blind_scoring
from reviews.review.decisions import restore, submit
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.search.strata import get_stratum
from tests.support.factories import EvaluationFactory, ImportFactory

SCORES = {
    "Clarity": {"score": "Yes", "justification": "Each step follows."},
    "Conclusion Accuracy": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."},
}
ORIGINS = {"Clarity": "judge", "Conclusion Accuracy": "human"}


def evaluations(run: Run, *, tasks: Iterable[str | None], **values: Any) -> list[Evaluation]:
    """Add the records of another import to a run, one for each task in that order."""
    source = ImportFactory.create(run=run)
    lines = [EvaluationFactory.build(run=run, first_import=source, task_id=task, **values) for task in tasks]
    return Evaluation.objects.bulk_create(lines)


def fresh(evaluation: Evaluation) -> Evaluation:
    """Return the record as it is stored."""
    return Evaluation.objects.get(pk=evaluation.pk)


def decide(
    evaluation: Evaluation, reviewer: User, *, by: Callable[..., Review] = submit, **other: Any
) -> Review:
    """Submit or revise a review of the record as loaded; `other` overrides arguments."""
    sent: dict[str, Any] = {
        "version": evaluation.version,
        "scores": SCORES,
        "comments": "",
        "origins": ORIGINS,
        "submission": uuid4(),
    }
    return by(evaluation_id=evaluation.pk, reviewer=reviewer, **(sent | other))


def agree(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    """Submit a review that agrees with the judge; `other` as for `decide`."""
    offered = read_proposals(evaluation, run_rubric(evaluation.run))
    said: dict[str, Any] = {
        "scores": {proposal.criterion: dict(proposal.given) for proposal in offered},
        "origins": {proposal.criterion: proposal.origin for proposal in offered},
        "judged": {proposal.criterion: proposal.score for proposal in offered},
    }
    return decide(evaluation, reviewer, **(said | other))


def lock_in_scores(
    evaluation: Evaluation,
    reviewer: User,
    scores: Mapping[str, Any],
    *,
    judged: Mapping[str, Any] | None = None,
) -> BlindScores:
    """Store blind scores, criterion -> score, of a record as loaded; `judged` replaces the judge's scores."""
    if judged is not None:
        evaluation.parsed_rubric_scores = {name: {"score": score} for name, score in judged.items()}
        evaluation.aggregated_score = run_rubric(evaluation.run).judge_verdict(
            evaluation.aggregated_score, judged
        )
        evaluation.save(update_fields=["parsed_rubric_scores", "aggregated_score"])
    Reveal.objects.get_or_create(
        run_id=evaluation.run_id, evaluation=evaluation, reviewer=reviewer, how=Reveal.How.LOCKED_IN
    )
    return blind_scoring.add_scores(evaluation, reviewer, scores)


def lock_in_many(records: Sequence[Evaluation], reviewer: User, scores: Sequence[Mapping[str, Any]]) -> None:
    """Store blind scores, criterion -> score, of each record as loaded, in few statements.

    The rubric is that of the loaded run of each record.
    """
    Reveal.objects.bulk_create(
        (
            Reveal(run_id=record.run_id, evaluation=record, reviewer=reviewer, how=Reveal.How.LOCKED_IN)
            for record in records
        ),
        ignore_conflicts=True,
    )
    strata_by_names: dict[tuple[Any, ...], Stratum] = {}
    rows = []
    for record, given in zip(records, scores, strict=True):
        names = (
            record.run_id,
            record.judge_llm_model,
            record.judge_prompt_template_path,
            record.model_id,
            record.needs_human_review,
        )
        if names not in strata_by_names:
            strata_by_names[names] = get_stratum(record)
        rows.append(blind_scoring.build_scores(record, reviewer, given, strata_by_names[names]))
    BlindScores.objects.bulk_create(rows)


def restore_version(evaluation: Evaluation, actor: User, number: int = 1, **other: Any) -> Review:
    """Restore a version of the record as loaded; `other` overrides arguments."""
    sent: dict[str, Any] = {
        "version": evaluation.version,
        "submission": uuid4(),
        "restored": number,
        "reason": "It was right.",
    }
    return restore(evaluation_id=evaluation.pk, actor=actor, **(sent | other))


def end_claim(evaluation: Evaluation) -> None:
    """Let the claim on a record expire."""
    ended = timezone.now() - dt.timedelta(seconds=1)
    Evaluation.objects.filter(pk=evaluation.pk).update(claimed_until=ended)


def claim_expiry(evaluation: Evaluation | None) -> dt.datetime:
    """Return when the claim on a claimed record expires."""
    assert evaluation
    assert evaluation.claimed_until
    return evaluation.claimed_until


def decide_all(run: Run, reviewer: User) -> list[Evaluation]:
    """Decide every record of the queue. Return the records in their order."""
    decided = []
    while evaluation := claims.claim_next(run=run, reviewer=reviewer):
        decide(evaluation, reviewer)
        decided.append(evaluation)
    return decided
