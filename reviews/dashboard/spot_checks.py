"""Spot checks: a lead reviews decisions drawn at random, and agrees with them or reopens them."""

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from reviews.accounts.permissions import Denied, check
from reviews.audit import events
from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.models import Review, SpotCheck, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.records.status import QUEUE_STATUSES
from reviews.review import decisions
from reviews.review.preconditions import check_current

Outcome = SpotCheck.Outcome
MOST_DRAWN = 100
LISTED = 200


@transaction.atomic
def draw(*, selection: WorkSelection, count: int, actor: User) -> list[SpotCheck]:
    """Draw at most `count` current decisions of the selection's reviewer, with equal probability.

    Archived runs are left out.
    A decision is drawn only once, and at most `MOST_DRAWN` at a time. Raises `Denied` for the actor's own
    decisions.
    """
    check(actor, "lead_review")
    if selection.reviewer is None or selection.reviewer == actor:
        raise Denied("Choose one other reviewer for a spot check.")
    # The lock serialises concurrent draws, so that they draw different decisions.
    User.objects.select_for_update(no_key=True).only("pk").get(pk=selection.reviewer.pk)
    candidates = Review.objects.by_reviewers().filter(selection.condition(), spot_check=None)
    candidates = candidates.filter(run__archived_at=None)
    current = candidates.filter(evaluation__review=F("pk"), evaluation__is_outdated=False)
    current = current.exclude(evaluation__human_review_status__in=QUEUE_STATUSES)
    drawn = current.order_by("?").only("pk", "run", "reviewer")[: min(count, MOST_DRAWN)]
    checks = SpotCheck.objects.bulk_create(
        SpotCheck(review=review, run_id=review.run_id, reviewer_id=review.reviewer_id, drawn_by=actor)
        for review in drawn
    )
    events.record(
        "draw spot checks",
        actor=actor,
        run=selection.run,
        reviewer=selection.reviewer.username,
        reviews=[one.review_id for one in checks],
    )
    return list(_loaded(SpotCheck.objects.filter(pk__in=[one.pk for one in checks]).order_by("pk")))


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


def open_checks(actor: User) -> list[SpotCheck]:
    """Return the actor's pending checks of current decisions in runs that they may see, oldest first."""
    mine = SpotCheck.objects.filter(
        in_visible_runs(actor), drawn_by=actor, outcome=Outcome.OPEN, review__evaluation__review=F("review")
    )
    decided = mine.exclude(review__evaluation__human_review_status__in=QUEUE_STATUSES)
    return list(_loaded(decided.order_by("pk")))


def completed_checks(selection: WorkSelection) -> list[SpotCheck]:
    """Return the latest completed checks, by the day of the decision."""
    found = SpotCheck.objects.filter(selection.of_reviews()).exclude(outcome=Outcome.OPEN)
    return list(_loaded(found).order_by("-resolved_at", "-pk")[:LISTED])


def _open(check_id: int, actor: User) -> SpotCheck:
    """Return a pending check of a current decision, and lock its record. Raises `Conflict`."""
    check(actor, "lead_review")
    review = SpotCheck.objects.select_related("review").get(pk=check_id).review
    evaluation = claims.lock_evaluation(review.evaluation_id)
    spot_check = SpotCheck.objects.select_related("review").get(pk=check_id)
    if spot_check.outcome != Outcome.OPEN:
        raise Conflict(f"This check is already completed: {spot_check.get_outcome_display().lower()}.")
    check_current(evaluation, review)
    spot_check.review.evaluation = evaluation
    return spot_check


def _complete(spot_check: SpotCheck, outcome: Outcome, actor: User, note: str) -> None:
    spot_check.outcome, spot_check.note = outcome, note
    spot_check.resolved_by, spot_check.resolved_at = actor, timezone.now()
    spot_check.save(update_fields=["outcome", "note", "resolved_by", "resolved_at"])


def _loaded(checks: QuerySet[SpotCheck]) -> QuerySet[SpotCheck]:
    """Load everything a page shows, without large columns."""
    checks = checks.select_related("review__evaluation__run", "review__reviewer", "resolved_by")
    return checks.defer(*(f"review__evaluation__{column}" for column in LARGE_COLUMNS))
