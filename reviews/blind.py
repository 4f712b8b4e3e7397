"""Blind review: a share of a run's records is scored before the judge's scores are shown.

Whoever sees a score leans towards it. So how far people agree with the judge is told by records of which
they saw nothing of what it said until they had committed scores of their own. That needs an answer of the
model, in the record or in its task context: otherwise the judge's output is all there is to read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, Sum

from reviews import audit, contexts, drafts, responses, shares
from reviews.meanwhile import Conflict, check_version
from reviews.models import BlindScores, Evaluation, Reveal, Review, Run, StratumCount, User
from reviews.permissions import Denied, can, check
from reviews.queue import Taken, check_holds, clock, locked


def is_hidden(evaluation: Evaluation, reviewer: User) -> bool:
    """Whether this person may see nothing yet of what the judge said. At most six queries, mostly none.

    What was decided before is shown, and so is what a lead adjudicates: the opinions on it tell of the judge.
    """
    return (
        evaluation.in_queue
        and evaluation.review_id is None
        and not evaluation.is_stale
        and shares.is_blind(evaluation.run, evaluation.evaluation_id)
        and not _adjudicates(evaluation, reviewer)
        and not _has_seen(evaluation, reviewer)
        and has_answer(evaluation)
    )


def check_shown(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `Denied` where what the judge said is hidden."""
    if is_hidden(evaluation, reviewer):
        raise Denied(
            "This record is scored blind, and this would tell what the judge said of it. "
            "Commit your scores first: then it is shown to you."
        )


def has_answer(evaluation: Evaluation) -> bool:
    """Whether there is an answer of the model to judge. At most two queries."""
    if responses.holds_answer(evaluation.structured_model_response):
        return True
    context = contexts.of(evaluation)
    return context is not None and responses.holds_answer(context.response)


def committed(evaluation: Evaluation, reviewer: User) -> BlindScores | None:
    """What the reviewer gave on the record's present evidence before the judge's scores were shown."""
    return BlindScores.objects.filter(**_on_evidence(evaluation, reviewer)).first()


def _adjudicates(evaluation: Evaluation, reviewer: User) -> bool:
    if not (evaluation.is_escalated and can(reviewer, "lead_review")):
        return False
    return evaluation.opinions.filter(is_open=True).exists()


def _has_seen(evaluation: Evaluation, reviewer: User) -> bool:
    """Return whether the judge's scores of the record were ever shown to the reviewer."""
    shown = Q(evaluation=evaluation) | Q(evaluation=None)
    return (
        Reveal.objects.filter(shown, run=evaluation.run_id, reviewer=reviewer).exists()
        or Review.objects.filter(evaluation=evaluation, reviewer=reviewer).exists()
    )


def _on_evidence(evaluation: Evaluation, reviewer: User) -> dict[str, Any]:
    return {
        "evaluation": evaluation,
        "reviewer": reviewer,
        "source_import_id": evaluation.source_import_id,
        "source_line": evaluation.source_line,
    }


@transaction.atomic
def commit(
    *,
    evaluation_id: int,
    reviewer: User,
    version: int,
    scores: Mapping[str, Any],
    fields: drafts.Fields,
    active_ms: int | None,
) -> BlindScores:
    """Keep the scores that a reviewer gives blind, criterion -> score; from then on they see the judge's.

    `version` is the record's as the reviewer saw it. `fields` becomes their draft of the review, in which
    they may still change everything. The same scores sent twice are kept once. Raises `Conflict` when they do
    not hold the record, it has changed, they committed others, or the judge's are not hidden from them.
    """
    check(reviewer, "review_evaluation")
    # A second tab, an import and whoever takes the record over take turns with this.
    evaluation = locked(evaluation_id)
    _check_held(evaluation, reviewer)
    before = committed(evaluation, reviewer)
    if before:
        return _same(before, scores)
    check_version(evaluation, version)
    if not is_hidden(evaluation, reviewer):
        raise Conflict("The judge's scores of this record are not hidden any more. Check yours and submit.")
    given = BlindScores.objects.create(
        **_on_evidence(evaluation, reviewer), scores=dict(scores), active_ms=active_ms
    )
    drafts.replace(evaluation, reviewer, fields)
    audit.record(
        "blind scores", actor=reviewer, run=evaluation.run, evaluation=evaluation, scores=given.scores
    )
    return given


def _check_held(evaluation: Evaluation, reviewer: User) -> None:
    try:
        check_holds(evaluation, reviewer)
    except Taken as taken:
        raise Conflict(taken.reason) from taken


def _same(before: BlindScores, scores: Mapping[str, Any]) -> BlindScores:
    if before.scores != scores:
        raise Conflict(
            f"You committed other scores at {clock(before.at)}, and those are kept. "
            "The judge's are shown now: check yours and submit."
        )
    return before


# Whether a run can be reviewed blind at all


@dataclass(frozen=True, slots=True)
class Possibility:
    """What there is to judge in a run without what its judge said.

    `answered` counts the records with an answer of their own, None while nobody has counted yet.
    `by_context` says whether task context has an answer for others (looked up only where it matters).
    """

    answered: int | None
    by_context: bool

    @property
    def is_possible(self) -> bool:
        return self.answered != 0 or self.by_context

    @property
    def sentence(self) -> str:
        """Why blind review cannot be; empty where it can."""
        if self.is_possible:
            return ""
        return (
            "No record of this run can be scored blind: neither the records nor their task context have an "
            "answer of the model, so the judge's output is all there is to read."
        )


_ANSWER_IN_CONTEXT = """
    SELECT EXISTS (
        SELECT FROM task_context JOIN task_answer ON task_answer.context_id = task_context.id
        JOIN evaluation ON evaluation.run_id = %(run)s AND evaluation.task_id = task_context.task_id
            AND evaluation.model_id = task_answer.model_id
        WHERE task_context.run_id = %(run)s OR task_context.run_id IS NULL
    )
"""


def possibility(run: Run) -> Possibility:
    """What of a run can be reviewed blind, from what was counted when its files came in."""
    counts = StratumCount.objects.filter(stratum__run=run)
    answered: int | None = counts.aggregate(sum=Sum("answered"))["sum"]
    if answered:
        return Possibility(answered, by_context=False)
    with connection.cursor() as cursor:
        cursor.execute(_ANSWER_IN_CONTEXT, {"run": run.pk})
        (by_context,) = cursor.fetchone() or (False,)
    return Possibility(answered, by_context)
