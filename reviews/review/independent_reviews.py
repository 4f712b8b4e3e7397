"""Independent independent reviews of several people on one record, and what comes of them.

Where a run wants several, a submit is an independent review: a review version that is not in force. The
record stays in the queue for others; who gave one does not get it again, and nobody sees an open independent
review of somebody else but a lead who decides. The last that is wanted settles it: where all gave the same
scores it is put in force, which is for `workflow` to do, and where they differ the record goes to a lead.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple, Unpack
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import check
from reviews.audit import events, reveals
from reviews.models import Escalation, Evaluation, IndependentReview, Review, Run, User, Withdrawal
from reviews.queue import allocation, claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, save_claim, start_claim
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.records.scores import identity, is_score, score_of
from reviews.review import agreement_counts, drafts, versions
from reviews.review.decision import Decision
from reviews.review.preconditions import check_decidable


class Outcome(Enum):
    """What follows an independent review: others are awaited, all agree, or a lead decides."""

    WAITS = auto()
    AGREE = auto()
    DIFFER = auto()


class Standing(NamedTuple):
    """Progress of a record that needs independent reviews: submitted, wanted, and the user's own."""

    given: int
    wanted: int
    own: IndependentReview | None


class Given(NamedTuple):
    """A submitted independent review, all open ones of the record, and the outcome."""

    review: Review
    independent_reviews: list[IndependentReview]
    outcome: Outcome


def waiting_on(evaluation: Evaluation) -> list[int]:
    """The keys of the independent reviews that wait for a decision."""
    waiting = evaluation.independent_reviews.filter(is_open=True)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def are_wanted(evaluation: Evaluation, waiting: Sequence[int]) -> bool:
    """Whether a submit of the record, on which these independent reviews wait, is an independent review.

    Not where a lead was asked, nor where a decision is in force: its reviewer reads what was decided before.
    """
    if evaluation.is_escalated or evaluation.review_id is not None:
        return False
    wanted = allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id)
    return wanted > 1 or bool(waiting)


def open_on(evaluation: Evaluation) -> list[IndependentReview]:
    """The independent reviews that wait for a decision, the oldest first, with their reviewers."""
    found = evaluation.independent_reviews.filter(is_open=True).select_related("review__reviewer", "reviewer")
    return list(found.order_by("review__version"))


def readable_by(evaluation: Evaluation, reader: User) -> list[IndependentReview]:
    """Return the open independent reviews that a lead may read: after taking it over, or once decided.

    Before, they could still give an independent review themselves.
    """
    is_over = evaluation.is_decided or reveals.has_read_independent_reviews(evaluation, reader)
    return open_on(evaluation) if is_over else []


def standing(evaluation: Evaluation, user: User) -> Standing:
    """Of a record that waits for its first decision; of any other, that no independent review is given."""
    given = open_on(evaluation) if evaluation.in_queue and evaluation.review_id is None else []
    wanted = max(
        allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id), len(given) + 1
    )
    own = next(
        (independent_review for independent_review in given if independent_review.reviewer_id == user.pk),
        None,
    )
    return Standing(len(given), wanted, own)


def agree(reviews: Iterable[Review]) -> bool:
    """Whether all gave the same scores to the same criteria."""
    first, *others = (_scores(review) for review in reviews)
    return all(other == first for other in others)


def _scores(review: Review) -> dict[str, Any]:
    scores = {name: score_of(entry) for name, entry in (review.corrected_scores or {}).items()}
    return {name: identity(score) if is_score(score) else score for name, score in scores.items()}


def problem(run: Run) -> str:
    """Why a run cannot get the independent reviews it wants, as a sentence; empty where it can."""
    people = User.objects.filter(is_active=True, groups__permissions__codename="review_evaluation")
    count = people.distinct().count()
    if not run.overlap_share or run.overlap <= count:
        return ""
    can = "1 person" if count == 1 else f"{count} people"
    return (
        f"{run.overlap} people are to review the same record and only {can} can. Such a record waits, "
        "until there are more or a lead decides with the independent reviews there are."
    )


def give(evaluation: Evaluation, reviewer: User, submission: UUID, decision: Decision) -> Given:
    """Add an independent review on a locked record, which nobody holds afterwards.

    What all agree on is not in force yet, and not counted: the caller does both, in this order.
    """
    before = open_on(evaluation)
    keys = [independent_review.pk for independent_review in before]
    review = versions.add(evaluation, reviewer, submission, decision, independent_reviews=keys)
    given = [*before, _keep(evaluation, review)]
    _leave_to_others(evaluation, reviewer)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    if len(given) < allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id):
        return Given(review, given, Outcome.WAITS)
    if agree(independent_review.review for independent_review in given):
        close(evaluation)
        return Given(review, given, Outcome.AGREE)
    _hand_to_lead(evaluation, reviewer)
    return Given(review, given, Outcome.DIFFER)


@transaction.atomic
def add(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Put an independent review beside a decision that is in force: the reviewer came too late to decide.

    It changes nothing in force. If its scores are others, a lead is to say which hold. Arguments as of
    `workflow.submit_review`. Raises `Conflict` where there is no such decision of somebody else's, or the
    record has changed since.
    """
    check(reviewer, "review_evaluation")
    evaluation = claims.lock_evaluation(evaluation_id)
    sent_before = versions.sent_before(submission, evaluation, reviewer)
    if sent_before:
        return sent_before
    in_force = _decided_by_another(evaluation, reviewer)
    if evaluation.version != version:
        # Says who decided it, and how far from that this is: sent again, it is meant beside that.
        check_decidable(evaluation, reviewer, decision["scores"])
    review = versions.add(evaluation, reviewer, submission, decision)
    _keep(evaluation, review)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    # So that both are there side by side, as they are where independent reviews were asked for.
    beside = {"evaluation": evaluation, "reviewer": in_force.reviewer}
    IndependentReview.objects.update_or_create(review=in_force, defaults=beside | {"is_open": True})
    if not evaluation.is_escalated:
        if agree([in_force, review]):
            close(evaluation)
        else:
            _hand_to_lead(evaluation, reviewer)
    return review


def _decided_by_another(evaluation: Evaluation, reviewer: User) -> Review:
    """The decision that an independent review can stand beside. Raises `Conflict`."""
    in_force = evaluation.review
    if in_force is None or evaluation.in_queue:
        raise Conflict("Nothing is decided here any more: submit it instead.")
    if in_force.is_from_file:
        raise Conflict(
            "This decision came with a file: there is nobody's independent review to put another beside."
        )
    if in_force.reviewer_id == reviewer.pk:
        raise Conflict("The decision in force is yours. Revise it instead.")
    given = evaluation.independent_reviews.filter(reviewer=reviewer, review__withdrawal=None)
    place = {"source_import": evaluation.source_import_id, "source_line": evaluation.source_line}
    if given.filter(**{f"review__{name}": value for name, value in place.items()}).exists():
        raise Conflict("You gave your independent review on this already.")
    return in_force


@transaction.atomic
def take_over(*, evaluation_id: int, actor: User) -> None:
    """As a lead, decide on a record with the independent reviews there are: it is theirs from now on.

    They may read the independent reviews from now on, and give none of their own any more. Raises
    `RecordUnavailable` when somebody else holds the record, and `Conflict` when it waits for no independent
    reviews.
    """
    check(actor, "lead_review")
    evaluation = claims.lock_evaluation(evaluation_id)
    if evaluation.is_escalated or not evaluation.independent_reviews.filter(is_open=True).exists():
        raise Conflict("This record does not wait for independent reviews.")
    claims.check_unclaimed(evaluation, actor)
    _hand_to_lead(evaluation, actor, "adjudicate")
    reveals.record_reveal(evaluation, actor, reveals.How.INDEPENDENT_REVIEWS)
    save_claim(evaluation, start_claim(evaluation.run, actor))


def close(evaluation: Evaluation, waiting: Sequence[int] | None = None) -> Sequence[int]:
    """Close the open independent reviews of a locked record, and return their keys.

    `waiting` are those keys where the caller has them.
    """
    keys = waiting_on(evaluation) if waiting is None else waiting
    if keys:
        IndependentReview.objects.filter(pk__in=keys).update(is_open=False)
    return keys


def reopen(review: Review) -> None:
    """Reopen the independent reviews that an undone decision had closed."""
    IndependentReview.objects.filter(pk__in=(review.before or {}).get("independent_reviews", [])).update(
        is_open=True
    )


def recount(evaluation: Evaluation, taken_back: Review) -> None:
    """Remove a record from the counts if the undone review was counted."""
    if evaluation.independent_reviews.filter(review=taken_back, is_counted=True).exists():
        agreement_counts.uncount(evaluation)


def outdate(evaluations: Iterable[int]) -> None:
    """Close open reviews of re-imported records, unless a lead is adjudicating them."""
    waiting = IndependentReview.objects.filter(evaluation__in=[*evaluations], evaluation__is_escalated=False)
    waiting.filter(is_open=True).update(is_open=False)


def is_aside(evaluation: Evaluation, review: Review) -> bool:
    """Whether a review is an independent review on which nothing in force was built."""
    is_newest = evaluation.review_id is None or evaluation.review_id < review.pk
    return is_newest and IndependentReview.objects.filter(review=review).exists()


def take_back(evaluation: Evaluation, review: Review) -> None:
    """Withdraw an independent review of a locked record and restore its entries as a draft.

    The record is the reviewer's again if it is free. Raises `Conflict` when a lead is at it.
    """
    reviewer = review.reviewer
    if evaluation.is_escalated:
        try:
            claims.check_unclaimed(evaluation, reviewer)
        except RecordUnavailable as taken:
            raise Conflict(taken.reason) from taken
    Withdrawal.objects.create(review=review, actor=reviewer)
    IndependentReview.objects.filter(review=review).update(is_open=False)
    _end_disagreement(evaluation, reviewer)
    if not evaluation.in_queue:
        close(evaluation)
    elif not evaluation.is_escalated and not evaluation.is_claimed:
        save_claim(evaluation, start_claim(evaluation.run, reviewer))
    drafts.restore(review)
    _record("undo independent review", evaluation, reviewer, version=review.version)
    recount(evaluation, review)


def _leave_to_others(evaluation: Evaluation, reviewer: User) -> None:
    """Free a record on which a reviewer has said what they have to say."""
    if evaluation.assigned_to_id == reviewer.pk:
        evaluation.assigned_to = None
    evaluation.save(update_fields=["assigned_to", *assign_claim(evaluation, NO_CLAIM)])
    evaluation.skips.filter(reviewer=reviewer).delete()


def _keep(evaluation: Evaluation, review: Review) -> IndependentReview:
    independent_review = IndependentReview.objects.create(
        review=review, evaluation=evaluation, reviewer=review.reviewer
    )
    _record(
        "independent review",
        evaluation,
        review.reviewer,
        version=review.version,
        scores=review.corrected_scores,
        comments=review.comments,
        causes=review.causes,
    )
    return independent_review


def _hand_to_lead(evaluation: Evaluation, actor: User, action: str = "disagreement") -> None:
    Escalation.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        kind=Escalation.Kind.DISAGREEMENT,
        raised_by=actor,
        outcome=Escalation.Outcome.OPEN,
    )
    evaluation.is_escalated = True
    evaluation.save(update_fields=["is_escalated"])
    _record(action, evaluation, actor)


def _end_disagreement(evaluation: Evaluation, actor: User) -> None:
    disagreement = {"kind": Escalation.Kind.DISAGREEMENT, "outcome": Escalation.Outcome.OPEN}
    ended = {"outcome": Escalation.Outcome.WITHDRAWN, "settled_by": actor, "settled_at": timezone.now()}
    if evaluation.escalations.filter(**disagreement).update(**ended):
        evaluation.is_escalated = False
        evaluation.save(update_fields=["is_escalated"])


def _record(action: str, evaluation: Evaluation, actor: User, **detail: Any) -> None:
    events.record(action, actor=actor, run=evaluation.run, evaluation=evaluation, **detail)
