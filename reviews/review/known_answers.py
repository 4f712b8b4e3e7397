"""Known answers: measure reviewers on records that a lead reviews, too.

A check draws records of the run's overlap share. Reviewers and the lead who started the check review them
independently, at their place in the queue. The lead's review is the known answer. While the check runs, no
number of reviews settles these records, so everybody can give one. To reviewers they look like other records
of the overlap share that wait for further reviews.
"""

from typing import NamedTuple

from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from reviews.accounts.permissions import check as check_permission
from reviews.audit import events
from reviews.models import Evaluation, IndependentReview, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.models.evaluations import IN_QUEUE, UNCLAIMED
from reviews.queue import allocation, claims
from reviews.records.conflicts import Conflict
from reviews.review import decisions, independent_reviews
from reviews.review.known_answer_rows import own_answer, running_check
from reviews.rubric.run_settings import InvalidSettings

MOST_RECORDS = 100
NO_OVERLAP = (
    "Reviewers would notice these records, because no records of this run are for several people. "
    "Set an overlap share first."
)
NONE_LEFT = (
    "Every record for several people has been begun, so none can be drawn. "
    "Raise the overlap share, or import more records."
)


class Ended(NamedTuple):
    """Numbers of records of a check that has ended."""

    #: Records that the known answer decided.
    decided: int
    #: Other records in the queue, which wait for reviews or for a lead.
    waiting: int


def has_overlap(run: Run) -> bool:
    """Return whether several people review some of the run's records."""
    return run.overlap > 1 and run.overlap_share > 0


def candidates(run: Run) -> QuerySet[Evaluation]:
    """Return the records that a check can draw: of the overlap share, and untouched."""
    place = allocation.position_expression(allocation.OVERLAP)
    reviewed = IndependentReview.objects.filter(evaluation=OuterRef("pk"))
    free = run.evaluations.filter(IN_QUEUE, UNCLAIMED, is_escalated=False, review=None, assigned_to=None)
    return free.filter(~Exists(reviewed)).annotate(place=place).filter(place__lt=run.overlap_share)


@transaction.atomic
def start(*, run_id: int, actor: User, count: int, seed: str | None = None) -> KnownAnswerCheck:
    """Start a check with at most `count` records drawn at random. The actor gives the known answers.

    The same `seed` draws the same records. Raises `Conflict` if a check is running, `RunArchived`, and
    `InvalidSettings` for `count`.
    """
    check_permission(actor, "lead_review")
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    claims.check_not_archived(run)
    if running_check(run):
        raise Conflict("A check is already running. End it first.")
    if not 1 <= count <= MOST_RECORDS:
        raise InvalidSettings({"count": [f"Enter a number from 1 to {MOST_RECORDS}."]})
    if not has_overlap(run):
        raise InvalidSettings({"count": [NO_OVERLAP]})
    # The locks keep a submit that settles a record from ending between the draw and the check.
    free = candidates(run).select_for_update(of=("self",), no_key=True, skip_locked=True)
    drawn = list(free.order_by(allocation.random_order(seed)).values_list("pk", flat=True)[:count])
    if not drawn:
        raise InvalidSettings({"count": [NONE_LEFT]})
    started = KnownAnswerCheck.objects.create(run=run, started_by=actor)
    KnownAnswer.objects.bulk_create(
        KnownAnswer(known_answer_check=started, evaluation_id=key) for key in drawn
    )
    # The event does not name the records, because other leads who read the log may review them, too.
    events.record("start known answers", actor=actor, run=run, check=started.pk, records=len(drawn))
    return started


@transaction.atomic
def end(*, check_id: int, actor: User) -> Ended:
    """End a check. The known answer becomes the decision of each record that has one, by the actor.

    Reviewing these records again would be a waste. Records without a known answer are settled like others of
    the overlap share. Records that are escalated or claimed by somebody else stay as they are. Raises
    `Conflict` if the check has ended, or if one of its records is locked.
    """
    check_permission(actor, "lead_review")
    ended = KnownAnswerCheck.objects.select_for_update(of=("self",)).select_related("run").get(pk=check_id)
    claims.check_not_archived(ended.run)
    if ended.ended_at:
        raise Conflict("This check has already ended.")
    keys = [answer.evaluation_id for answer in ended.answers.order_by("evaluation")]
    _lock_at_once(keys)
    # Earlier than the decisions below: reviews made later are no part of the check.
    ended.ended_by, ended.ended_at = actor, timezone.now()
    ended.save(update_fields=["ended_by", "ended_at"])
    decided = [key for key in keys if _decide(ended, key, actor)]
    waiting = Evaluation.objects.filter(IN_QUEUE, known_answers__known_answer_check=ended).count()
    events.record(
        "end known answers",
        actor=actor,
        run=ended.run,
        check=ended.pk,
        records=len(keys),
        decided=len(decided),
    )
    return Ended(len(decided), waiting)


def _lock_at_once(keys: list[int]) -> None:
    """Lock records. Raises `Conflict` if another transaction has locked one, such as an import."""
    rows = Evaluation.objects.filter(pk__in=keys).order_by("pk")
    try:
        list(rows.select_for_update(of=("self",), no_key=True, nowait=True).values_list("pk"))
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise Conflict("Some of these records are being changed. Try again in a moment.") from error


def _decide(check: KnownAnswerCheck, key: int, actor: User) -> bool:
    """Make the known answer the decision of a record. Return whether it did."""
    evaluation = claims.lock_evaluation(key)
    is_others = evaluation.is_claimed and evaluation.claimed_by_id != actor.pk
    if evaluation.review_id or not evaluation.in_queue or evaluation.is_escalated or is_others:
        return False
    answer = own_answer(check, evaluation)
    if answer is None:
        independent_reviews.settle(evaluation=evaluation, actor=actor)
        return False
    decisions.adopt(evaluation=evaluation, answer=answer.review, actor=actor)
    return True
