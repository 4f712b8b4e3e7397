"""Spot checks: a lead reviews decisions drawn at random, and agrees, corrects their scores or reopens them.

A lead draws decisions of one reviewer, and checks these. Decisions of a run's standing sample are drawn as
they are made (`review.current_decision.draw_for_spot_check`), and any other lead checks them.
"""

from collections.abc import Sequence
from typing import Unpack
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from reviews.accounts.permissions import Denied, check
from reviews.audit import events
from reviews.dashboard.selection import WorkSelection
from reviews.models import Evaluation, Review, Run, SpotCheck, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.queue import allocation, claims
from reviews.records.conflicts import Conflict
from reviews.records.status import QUEUE_STATUSES
from reviews.review import decisions
from reviews.review.entries import Decision
from reviews.review.preconditions import check_current
from reviews.review.versions import have_same_scores

Outcome = SpotCheck.Outcome
MOST_DRAWN = 100
LISTED = 200


@transaction.atomic
def draw(*, selection: WorkSelection, count: int, actor: User, seed: str | None = None) -> list[SpotCheck]:
    """Draw at most `count` current decisions of the selection's reviewer, with equal probability.

    Archived runs are left out. A decision is drawn only once, and at most `MOST_DRAWN` at a time. In one run,
    the same `seed` draws the same decisions. Raises `Denied` for the actor's own decisions.
    """
    check(actor, "lead_review")
    if selection.reviewer is None or selection.reviewer == actor:
        raise Denied("Choose one other reviewer for a spot check.")
    # The lock serialises concurrent draws, so that they draw different decisions.
    User.objects.select_for_update(no_key=True).only("pk").get(pk=selection.reviewer.pk)
    order = allocation.random_order(seed, "evaluation__evaluation_id")
    drawn = _unchecked().filter(selection.condition()).order_by(order)
    checks = _create(drawn[: min(count, MOST_DRAWN)], actor)
    events.record(
        "draw spot checks",
        actor=actor,
        run=selection.run,
        reviewer=selection.reviewer.username,
        reviews=[one.review_id for one in checks],
    )
    return checks


@transaction.atomic
def select(*, run: Run, records: Sequence[int], actor: User) -> list[SpotCheck]:
    """Create checks of the current decisions of selected records, at most `MOST_DRAWN`, in their order.

    The actor's own decisions and those checked before are left out. No share of agreement counts selected
    decisions, because they are no random sample.
    """
    check(actor, "lead_review")
    # The same lock as in `draw`, for each reviewer.
    found = _unchecked().filter(run=run, evaluation__in=records).exclude(reviewer=actor)
    people = User.objects.filter(pk__in=found.values("reviewer")).order_by("pk")
    list(people.select_for_update(no_key=True).values_list("pk"))
    checks = _create(found.order_by("evaluation")[:MOST_DRAWN], actor, is_selected=True)
    if reviews := [one.review_id for one in checks]:
        events.record("select spot checks", actor=actor, run=run, records=len(reviews), reviews=reviews)
    return checks


def _unchecked() -> QuerySet[Review]:
    """Return the current decisions that were never drawn nor selected, without those of archived runs."""
    rows = Review.objects.by_reviewers().filter(spot_check=None, run__archived_at=None)
    current = rows.filter(evaluation__review=F("pk"), evaluation__is_outdated=False)
    return current.exclude(evaluation__human_review_status__in=QUEUE_STATUSES)


def _create(reviews: QuerySet[Review], actor: User, *, is_selected: bool = False) -> list[SpotCheck]:
    made = SpotCheck.objects.bulk_create(
        SpotCheck(
            review=review,
            run_id=review.run_id,
            reviewer_id=review.reviewer_id,
            drawn_by=actor,
            is_selected=is_selected,
        )
        for review in reviews.only("pk", "run", "reviewer")
    )
    return list(_loaded(SpotCheck.objects.filter(pk__in=[one.pk for one in made]).order_by("pk")))


@transaction.atomic
def agree(*, check_id: int, actor: User, note: str = "") -> SpotCheck:
    """Agree with a decision.

    Raises `Conflict` if the decision is no longer current or the check is completed.
    """
    spot_check = _open(check_id, actor)
    _complete(spot_check, Outcome.AGREED, actor, note)
    evaluation = spot_check.review.evaluation
    events.record("agree to spot check", actor=actor, evaluation=evaluation, note=note)
    return spot_check


@transaction.atomic
def reopen(*, check_id: int, actor: User, reason: str) -> SpotCheck:
    """Return the record to the queue with a reason for its reviewer. Raises like `agree`."""
    spot_check = _open(check_id, actor)
    decisions.reopen(evaluation_id=spot_check.review.evaluation_id, actor=actor, reason=reason)
    _complete(spot_check, Outcome.REOPENED, actor, reason)
    return spot_check


@transaction.atomic
def correct(
    *, check_id: int, actor: User, reason: str, version: int, submission: UUID, **decision: Unpack[Decision]
) -> SpotCheck:
    """Replace the decision by a version with the lead's entries. Raises like `agree`.

    If only texts or causes differ, the lead agrees with the scores. The reviewer is told the reason.
    """
    spot_check = _open(check_id, actor)
    corrected = spot_check.review
    review = decisions.correct(
        evaluation_id=corrected.evaluation_id,
        reviewer=actor,
        version=version,
        submission=submission,
        reason=reason,
        **decision,
    )
    is_agreed = have_same_scores([corrected, review])
    _complete(spot_check, Outcome.AGREED if is_agreed else Outcome.CORRECTED, actor, reason, review)
    return spot_check


def open_checks(lead: User) -> QuerySet[SpotCheck]:
    """Return the pending checks that the lead may complete, oldest first."""
    return pending_checks(lead).order_by("pk")


def pending_checks(lead: User) -> QuerySet[SpotCheck]:
    """Return the pending checks of current decisions that the lead may complete.

    These are the lead's draws and the standing samples of runs that they may see, without their own
    decisions. A disputed decision waits until a lead has decided.
    """
    theirs = Q(drawn_by=lead) | (Q(drawn_by=None) & ~Q(reviewer=lead))
    decided = Evaluation.objects.filter(review=OuterRef("review"), is_outdated=False, is_escalated=False)
    decided = decided.exclude(human_review_status__in=QUEUE_STATUSES)
    # The planner underestimates a join by both keys, and then sorts all checks for the first page.
    due = SpotCheck.objects.filter(
        theirs, Exists(decided), in_visible_runs(lead), outcome=Outcome.OPEN, run__archived_at=None
    )
    return _loaded(due)


def completed_checks(selection: WorkSelection, most: int = LISTED) -> list[SpotCheck]:
    """Return the latest completed checks, at most so many, by the day of the decision."""
    found = SpotCheck.objects.filter(selection.of_reviews()).exclude(outcome=Outcome.OPEN)
    return list(_loaded(found).order_by("-resolved_at", "-pk")[:most])


def _open(check_id: int, actor: User) -> SpotCheck:
    """Return a pending check of a current decision, and lock its record. Raises `Conflict`."""
    check(actor, "lead_review")
    review = SpotCheck.objects.select_related("review").get(pk=check_id).review
    evaluation = claims.lock_evaluation(review.evaluation_id)
    spot_check = SpotCheck.objects.select_related("review").get(pk=check_id)
    if spot_check.reviewer_id == actor.pk:
        raise Denied("This decision is yours, so another lead checks it.")
    if spot_check.outcome != Outcome.OPEN:
        raise Conflict(f"This check is already completed: {spot_check.get_outcome_display().lower()}.")
    check_current(evaluation, review)
    spot_check.review.evaluation = evaluation
    return spot_check


def _complete(
    spot_check: SpotCheck, outcome: Outcome, actor: User, note: str, correction: Review | None = None
) -> None:
    spot_check.outcome, spot_check.note, spot_check.correction = outcome, note, correction
    spot_check.resolved_by, spot_check.resolved_at = actor, timezone.now()
    spot_check.save(update_fields=["outcome", "note", "correction", "resolved_by", "resolved_at"])


def _loaded(checks: QuerySet[SpotCheck]) -> QuerySet[SpotCheck]:
    """Load everything a page shows, without large columns."""
    checks = checks.select_related("run", "review__evaluation__run", "review__reviewer", "resolved_by")
    return checks.defer(*(f"review__evaluation__{column}" for column in LARGE_COLUMNS))
