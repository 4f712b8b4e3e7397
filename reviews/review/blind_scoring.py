"""Blind review: a share of a run's records is scored before the judge's scores are shown.

Seen scores bias a reviewer, so agreement with the judge is measured on records that people scored before they
saw the judge's output. Blind review needs the model's answer, in the record or in its task context. Otherwise
there is nothing to read but the judge's output.

The judge's output of a record is hidden from a person under these conditions (in SQL:
`hidden_records.hidden_from`):

1. The record is in the queue and has no current decision.
2. It has never left the queue (`Evaluation.was_shown`, set by a trigger). Everybody may have seen the scores
   of an undone, reopened or imported decision.
3. It is in the run's blind share.
4. No `Reveal` shows that the person has seen the scores of the record or of the whole run.
5. The person has not reviewed it before.
6. It has an answer of the model.

The request that shows the scores writes the reveal: scores are locked in, a lead takes over a record to
adjudicate, a file is requested. A larger blind share or a new answer could hide scores that people have seen.
`reveal_served` records these reveals before such a change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import Combinable

from reviews.accounts.permissions import Denied, check
from reviews.audit import events, reveals
from reviews.database.statements import fetch_value
from reviews.evidence import task_context
from reviews.models import AuditEvent, BlindScores, Evaluation, Review, Run, Stratum, StratumCount, User
from reviews.queue import allocation
from reviews.queue.claims import check_claimed_by, format_time, lock_evaluation
from reviews.records import responses
from reviews.records.conflicts import Conflict
from reviews.records.reason_families import reason_family
from reviews.records.scores import is_score
from reviews.records.status import QUEUE_STATUSES
from reviews.review import drafts
from reviews.review.forms.fields import Fields
from reviews.review.preconditions import check_version
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import hold_rubric, run_rubric
from reviews.search import strata


def add_scores(
    evaluation: Evaluation, reviewer: User, scores: Mapping[str, Any], *, active_ms: int | None = None
) -> BlindScores:
    """Store scores, criterion -> score, that a reviewer gave before the judge's were shown.

    A trigger adds the ratings (`ratings.sql`).
    """
    hold_rubric(evaluation.run)
    row = build_scores(evaluation, reviewer, scores, strata.get_stratum(evaluation), active_ms=active_ms)
    row.save(force_insert=True)
    return row


def build_scores(
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


LOCK_IN_FIRST = (
    "This record is scored blind: lock in your scores first. Then the judge's are shown, and you submit."
)
# Actions that start a claim, and so show the record.
_SERVES = ("claim", "withdraw escalation")


def is_hidden(evaluation: Evaluation, reviewer: User) -> bool:
    """Return whether the judge's output of the record is hidden from this person. At most five queries."""
    return (
        evaluation.in_queue
        and evaluation.review_id is None
        and not evaluation.was_shown
        and allocation.is_blind(evaluation.run, evaluation.evaluation_id)
        and not reveals.were_scores_shown_to(evaluation, reviewer)
        and not Review.objects.filter(evaluation=evaluation, reviewer=reviewer).exists()
        and has_answer(evaluation)
    )


def check_shown(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `Denied` if the judge's output is hidden from the reviewer."""
    if is_hidden(evaluation, reviewer):
        raise Denied("This record is scored blind. Lock in your scores first to see the judge's output.")


def has_answer(evaluation: Evaluation) -> bool:
    """Return whether the record or its task context has the model's answer. At most two queries."""
    if responses.has_answer(evaluation.structured_model_response):
        return True
    context = task_context.find_context(evaluation)
    return context is not None and context.has_answer


def find_locked_in(evaluation: Evaluation, reviewer: User) -> BlindScores | None:
    """Return the scores that the reviewer locked in on the record's current evidence."""
    return BlindScores.objects.filter(
        evaluation=evaluation,
        reviewer=reviewer,
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
    ).first()


def has_locked_in(reviewer: User | Combinable) -> Exists:
    """Return the expression of evaluations for whether `find_locked_in` finds scores."""
    place = {name: OuterRef(name) for name in ("source_import_id", "source_line")}
    return Exists(BlindScores.objects.filter(evaluation=OuterRef("pk"), reviewer=reviewer, **place))


def check_locked_in(evaluation: Evaluation, reviewer: User) -> None:
    """Raise `Conflict` while the judge's scores of a locked record are hidden from the reviewer."""
    if is_hidden(evaluation, reviewer):
        raise Conflict(LOCK_IN_FIRST)


def reveal_served(records: QuerySet[Evaluation], *, share: float | None = None) -> None:
    """Record who has claimed these records, before a change that may hide their scores.

    `share` is the new blind share, if that changes. The cost grows with the undecided records among them that
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
            reveals.record_reveal(evaluation=evaluation, reader=reader, how=reveals.How.SHOWN)


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
    """Lock in a reviewer's blind scores, criterion -> score, and reveal the judge's scores.

    `version` is the record's version that the reviewer saw. `fields` becomes the draft of the review, which
    may still change every score. The same scores sent twice are saved once. Raises `Conflict` if the reviewer
    has not claimed the record, the record has changed, the reviewer locked in other scores, or the judge's
    scores are not hidden.
    """
    check(reviewer, "review_evaluation")
    evaluation = lock_evaluation(evaluation_id)
    check_claimed_by(evaluation, reviewer)
    if before := find_locked_in(evaluation, reviewer):
        if before.scores != scores:
            raise Conflict(
                f"You locked in other scores at {format_time(before.at)}, and those are kept. "
                "The judge's are shown now: check yours and submit."
            )
        return before
    check_version(evaluation, version)
    if not is_hidden(evaluation, reviewer):
        raise Conflict("The judge's scores of this record are no longer hidden. Check yours and submit.")
    given = add_scores(evaluation, reviewer, scores, active_ms=active_ms)
    drafts.replace(evaluation, reviewer, fields)
    reveals.record_reveal(evaluation=evaluation, reader=reviewer, how=reveals.How.LOCKED_IN)
    events.record("blind scores", actor=reviewer, evaluation=evaluation, scores=given.scores)
    return given


@dataclass(frozen=True, slots=True)
class BlindFeasibility:
    """Whether the records of a run can be scored without the judge's output."""

    #: Number of records that include the model's answer; None until all records are counted.
    answered: int | None
    #: Whether task context has the model's answer to a record; looked up only if `answered` is 0.
    by_context: bool

    @property
    def is_possible(self) -> bool:
        return self.answered != 0 or self.by_context

    @property
    def sentence(self) -> str:
        """Why no record can be scored blind; empty if some can."""
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
    """Return whether a run can be reviewed blind, from counts that imports keep."""
    if strata.why_not_counted(run):
        return BlindFeasibility(None, by_context=False)
    counts = StratumCount.objects.filter(stratum__run=run)
    answered: int | None = counts.aggregate(sum=Sum("answered"))["sum"]
    if answered:
        return BlindFeasibility(answered, by_context=False)
    return BlindFeasibility(answered, by_context=bool(fetch_value(_ANSWER_IN_CONTEXT, {"run": run.pk})))
