"""Blind review: a share of a run's records is scored before the judge's scores are shown.

Whoever sees a score leans towards it. So how far people agree with the judge is told by records of which
they saw nothing of what it said until they had committed scores of their own. That needs an answer of the
model, in the record or in its task context: otherwise the judge's output is all there is to read.

The judge's output of a record is hidden from a person if all of these hold (`hidden.hidden_from` in SQL):

1. The record is in the queue, and no decision is in force.
2. It was never out of the queue (`Evaluation.was_shown`, set by a trigger). A decision that was undone,
   reopened or brought by a file showed the scores to everybody.
3. It is in the run's blind share.
4. No row of `Reveal` says that this person was shown the scores, of this record or of the whole run.
5. They have not reviewed it before.
6. There is an answer of the model to score.

A reveal is written by the POST that shows the scores: scores are locked in, a lead takes a record over to
decide between independent reviews, a file is asked for. Where a change would hide what was shown (a larger
blind share, an answer that comes with a file), `reveal_served` records it first for everybody who had claimed
the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet, Sum

from reviews.accounts.permissions import Denied, check
from reviews.audit import events, reveals
from reviews.evidence import task_context
from reviews.models import AuditEvent, BlindScores, Evaluation, Review, Run, StratumCount, User
from reviews.queue import allocation
from reviews.queue.claims import check_claimed_by, format_time, lock_evaluation
from reviews.records import responses
from reviews.records.conflicts import Conflict
from reviews.records.status import QUEUE_STATUSES
from reviews.review import drafts
from reviews.review.forms.fields import Fields
from reviews.review.preconditions import check_version
from reviews.search import strata

LOCK_IN_FIRST = (
    "This record is scored blind: commit your scores first. Then the judge's are shown, and you submit."
)
# Begin a hold on a record, and so show it.
_SERVES = ("claim", "withdraw escalation")


def is_hidden(evaluation: Evaluation, reviewer: User) -> bool:
    """Return whether the judge's output of the record is hidden from this person. At most five queries."""
    return (
        evaluation.in_queue
        and evaluation.review_id is None
        and not evaluation.was_shown
        and allocation.is_blind(evaluation.run, evaluation.evaluation_id)
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
    if responses.has_answer(evaluation.structured_model_response):
        return True
    context = task_context.find_context(evaluation)
    return context is not None and responses.has_answer(context.response)


def find_locked_in(evaluation: Evaluation, reviewer: User) -> BlindScores | None:
    """What the reviewer gave on the record's present evidence before the judge's scores were shown."""
    return BlindScores.objects.filter(**_on_evidence(evaluation, reviewer)).first()


def _has_seen(evaluation: Evaluation, reviewer: User) -> bool:
    """Return whether the judge's scores of the record were ever shown to the reviewer."""
    return (
        reveals.were_scores_shown_to(evaluation, reviewer)
        or Review.objects.filter(evaluation=evaluation, reviewer=reviewer).exists()
    )


def check_locked_in(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `Conflict` while the judge's scores of a locked record are hidden from the reviewer."""
    if is_hidden(evaluation, reviewer):
        raise Conflict(LOCK_IN_FIRST)


def reveal_served(records: QuerySet[Evaluation], *, share: float | None = None) -> None:
    """Before a change that may hide some of these records, note who claimed them while they were shown.

    `share` is the blind share from then on, if that changes. Costs by the open records among them that
    somebody has claimed.
    """
    is_open = Q(human_review_status__in=QUEUE_STATUSES, review=None, was_shown=False)
    served = AuditEvent.objects.filter(evaluation__in=records.filter(is_open), action__in=_SERVES)
    pairs = served.exclude(actor=None).values_list("evaluation", "actor").distinct().order_by()
    for key, person in list(pairs):
        evaluation, reader = Evaluation.objects.select_related("run").get(pk=key), User.objects.get(pk=person)
        place = allocation.position(allocation.BLIND, evaluation.evaluation_id)
        will_be_blind = place < (evaluation.run.blind_share if share is None else share)
        if will_be_blind and not is_hidden(evaluation, reader):
            reveals.record_reveal(evaluation, reader, reveals.How.SHOWN)


def _on_evidence(evaluation: Evaluation, reviewer: User) -> dict[str, Any]:
    return {
        "evaluation": evaluation,
        "reviewer": reviewer,
        "source_import_id": evaluation.source_import_id,
        "source_line": evaluation.source_line,
    }


@transaction.atomic
def lock_in(
    *,
    evaluation_id: int,
    reviewer: User,
    version: int,
    scores: Mapping[str, Any],
    fields: Fields,
    active_ms: int | None,
) -> BlindScores:
    """Keep the scores that a reviewer gives blind, criterion -> score; from then on they see the judge's.

    `version` is the record's as the reviewer saw it. `fields` becomes their draft of the review, in which
    they may still change everything. The same scores sent twice are kept once. Raises `Conflict` when they do
    not hold the record, it has changed, they committed others, or the judge's are not hidden from them.
    """
    check(reviewer, "review_evaluation")
    # A second tab, an import and whoever takes the record over take turns with this.
    evaluation = lock_evaluation(evaluation_id)
    check_claimed_by(evaluation, reviewer)
    before = find_locked_in(evaluation, reviewer)
    if before:
        return _same(before, scores)
    check_version(evaluation, version)
    if not is_hidden(evaluation, reviewer):
        raise Conflict("The judge's scores of this record are not hidden any more. Check yours and submit.")
    given = BlindScores.objects.create(
        **_on_evidence(evaluation, reviewer), scores=dict(scores), active_ms=active_ms
    )
    drafts.replace(evaluation, reviewer, fields)
    reveals.record_reveal(evaluation, reviewer, reveals.How.LOCKED_IN)
    events.record(
        "blind scores", actor=reviewer, run=evaluation.run, evaluation=evaluation, scores=given.scores
    )
    return given


def _same(before: BlindScores, scores: Mapping[str, Any]) -> BlindScores:
    if before.scores != scores:
        raise Conflict(
            f"You committed other scores at {format_time(before.at)}, and those are kept. "
            "The judge's are shown now: check yours and submit."
        )
    return before


# Whether a run can be reviewed blind at all


@dataclass(frozen=True, slots=True)
class BlindFeasibility:
    """What there is to judge in a run without what its judge said.

    `answered` counts the records with an answer of their own, None until all are counted.
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


def blind_feasibility(run: Run) -> BlindFeasibility:
    """What of a run can be reviewed blind, from what was counted when its files came in."""
    if strata.why_not_counted(run):
        return BlindFeasibility(None, by_context=False)
    counts = StratumCount.objects.filter(stratum__run=run)
    answered: int | None = counts.aggregate(sum=Sum("answered"))["sum"]
    if answered:
        return BlindFeasibility(answered, by_context=False)
    with connection.cursor() as cursor:
        cursor.execute(_ANSWER_IN_CONTEXT, {"run": run.pk})
        (by_context,) = cursor.fetchone() or (False,)
    return BlindFeasibility(answered, by_context)
