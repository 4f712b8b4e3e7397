"""Independent reviews: several people review one record without seeing each other's scores.

An independent review is a review version that is not the current decision. The record stays in the queue for
other reviewers. Open independent reviews are visible to the adjudicating lead only. The last one that the run
requires becomes the current decision if all scores agree. Otherwise the record goes to a lead. Records of a
running check with known answers wait until the check ends.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack
from uuid import UUID

from django.db import transaction

from reviews.accounts.permissions import can, check, people_in
from reviews.audit import events, reveals
from reviews.models import Escalation, Evaluation, IndependentReview, Review, Run, User, Withdrawal
from reviews.queue import allocation, claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, save_claim, start_claim
from reviews.records.conflicts import Conflict
from reviews.records.scores import identity, score_of
from reviews.review import drafts, versions
from reviews.review.current_decision import draw_for_spot_check, make_current
from reviews.review.entries import Decision
from reviews.review.escalation_rows import end_escalation, open_escalation
from reviews.review.known_answer_rows import is_collecting
from reviews.review.preconditions import check_decidable
from reviews.review.rated_verdicts import rate_earlier_decision


class ReviewProgress(NamedTuple):
    """Progress of a record that needs independent reviews."""

    #: Number of submitted reviews.
    given: int
    #: Number of reviews that the run requires.
    wanted: int
    #: The user's own review.
    own: IndependentReview | None


def open_keys(evaluation: Evaluation) -> list[int]:
    """Return the keys of the open independent reviews."""
    waiting = evaluation.independent_reviews.filter(is_open=True)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def are_wanted(evaluation: Evaluation, waiting: Sequence[int]) -> bool:
    """Return whether a submit counts as an independent review. `waiting` are the keys of the open ones.

    Escalated and decided records need none: their reviewers see the earlier scores.
    """
    if evaluation.is_escalated or evaluation.review_id is not None:
        return False
    wanted = allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id)
    return wanted > 1 or bool(waiting)


def are_collected(evaluation: Evaluation) -> bool:
    """Return whether the record waits for independent reviews, and no lead decides between them yet."""
    return evaluation.in_queue and are_wanted(evaluation, open_keys(evaluation))


def open_reviews(evaluation: Evaluation) -> list[IndependentReview]:
    """Return the open independent reviews with their reviewers, the oldest first."""
    found = evaluation.independent_reviews.filter(is_open=True).select_related("review__reviewer", "reviewer")
    return list(found.order_by("review__version"))


def readable_by(evaluation: Evaluation, reader: User) -> list[IndependentReview]:
    """Return the open independent reviews that a lead may read: all after taking over the record, else none.

    Once the record is decided, they may read all, too. Before, they could still submit one themselves.
    """
    is_over = evaluation.is_decided or reveals.has_read_independent_reviews(evaluation, reader)
    return open_reviews(evaluation) if is_over else []


def readable_for_adjudication(evaluation: Evaluation, reader: User) -> list[IndependentReview]:
    """Return the open independent reviews that the person adjudicates; empty on other records."""
    may_adjudicate = evaluation.is_escalated and can(reader, "lead_review")
    return readable_by(evaluation, reader) if may_adjudicate else []


def review_progress(evaluation: Evaluation, user: User, *, has_open: bool = True) -> ReviewProgress:
    """Count the independent reviews of a record that waits for its first decision; 0 for other records.

    `has_open` is false if the caller knows that none is open.
    """
    waits = has_open and evaluation.in_queue and evaluation.review_id is None
    given = open_reviews(evaluation) if waits else []
    required = allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id)
    own = next((one for one in given if one.reviewer_id == user.pk), None)
    count = len(given)
    if count > 1 and count >= required and not evaluation.is_escalated and is_collecting(evaluation):
        count = max(1, required - 1)  # as for other records that still wait
    return ReviewProgress(count, max(required, count + 1), own)


def reviewer_shortage(run: Run) -> str:
    """Explain why a run cannot get the independent reviews it requires; empty if it can."""
    count = people_in(run).count()
    if not run.overlap_share or run.overlap <= count:
        return ""
    can = "1 person" if count == 1 else f"{count} people"
    return (
        f"{run.overlap} people are to review the same record and only {can} can. "
        "Such records wait for more reviewers or for a lead."
    )


def submit(*, evaluation: Evaluation, reviewer: User, submission: UUID, decision: Decision) -> Review:
    """Submit an independent review of a locked record.

    The last one that the run requires becomes the current decision if all agree. If they differ, the record
    goes to a lead.
    """
    earlier = open_reviews(evaluation)
    keys = [one.pk for one in earlier]
    review = versions.add(evaluation, reviewer, submission, decision, independent_reviews=keys)
    submitted = [*earlier, _create(evaluation, review)]
    if evaluation.assigned_to_id == reviewer.pk:
        evaluation.assigned_to = None
    evaluation.save(update_fields=["assigned_to", *assign_claim(evaluation, NO_CLAIM)])
    evaluation.skips.filter(reviewer=reviewer).delete()
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    if _is_complete(evaluation, submitted) and not is_collecting(evaluation):
        _settle(evaluation, submitted, reviewer)
    return review


def settle(*, evaluation: Evaluation, actor: User) -> None:
    """Settle a locked record that has as many independent reviews as the run requires."""
    submitted = open_reviews(evaluation)
    if submitted and _is_complete(evaluation, submitted):
        _settle(evaluation, submitted, actor)
        rate_earlier_decision(evaluation)


def _is_complete(evaluation: Evaluation, submitted: Sequence[IndependentReview]) -> bool:
    return len(submitted) >= allocation.required_independent_reviews(evaluation.run, evaluation.evaluation_id)


def _settle(evaluation: Evaluation, submitted: Sequence[IndependentReview], actor: User) -> None:
    """Make the last review the current decision if all agree. Otherwise send the record to a lead."""
    if not versions.have_same_scores(one.review for one in submitted):
        _escalate_disagreement(evaluation, actor)
        return
    review = submitted[-1].review
    close(evaluation)
    numbers = [one.review.version for one in submitted]
    make_current(
        action="resolve", evaluation=evaluation, review=review, also={"independent_reviews": numbers}
    )
    draw_for_spot_check(evaluation, review)


@transaction.atomic
def add(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Add an independent review to a record that somebody else decided first.

    The current decision stays. If the scores differ, a lead decides. The arguments are those of
    `decisions.submit`. Raises `Conflict` if nobody else decided the record here, or if it has changed.
    """
    check(reviewer, "review_evaluation")
    evaluation = claims.lock_evaluation(evaluation_id)
    if sent_before := versions.sent_before(submission, evaluation, reviewer):
        return sent_before
    current = _decided_by_another(evaluation, reviewer)
    if evaluation.version != version:
        # Raises with the name of the other reviewer. The reviewer can then submit this review as an addition.
        check_decidable(evaluation, reviewer, decision["scores"])
    review = versions.add(evaluation, reviewer, submission, decision)
    _create(evaluation, review)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    # The current decision becomes an open independent review, too, so that a lead can compare both.
    values = {"evaluation": evaluation, "reviewer": current.reviewer, "is_open": True}
    IndependentReview.objects.update_or_create(review=current, defaults=values)
    if not evaluation.is_escalated:
        if versions.have_same_scores([current, review]):
            close(evaluation)
        else:
            _escalate_disagreement(evaluation, reviewer)
    return review


def _decided_by_another(evaluation: Evaluation, reviewer: User) -> Review:
    """Return the current decision by another reviewer. Raises `Conflict` without such a decision."""
    current = evaluation.review
    if current is None or evaluation.in_queue:
        raise Conflict("This record is no longer decided. Submit your review instead.")
    if current.is_from_file:
        raise Conflict("This decision came with a file, so it cannot be compared with an independent review.")
    if current.reviewer_id == reviewer.pk:
        raise Conflict("The current decision is yours. Revise it instead.")
    given = evaluation.independent_reviews.filter(
        reviewer=reviewer,
        review__withdrawal=None,
        review__source_import=evaluation.source_import_id,
        review__source_line=evaluation.source_line,
    )
    if given.exists():
        raise Conflict("You have already reviewed this record.")
    return current


@transaction.atomic
def take_over(*, evaluation_id: int, actor: User) -> None:
    """Claim a record as a lead, to adjudicate the independent reviews submitted so far.

    From now on the lead may read these reviews and cannot add one. Raises `RecordUnavailable` if somebody
    else has claimed the record, and `Conflict` if it has no open independent reviews.
    """
    check(actor, "lead_review")
    evaluation = claims.lock_evaluation(evaluation_id)
    if evaluation.is_escalated or not evaluation.independent_reviews.filter(is_open=True).exists():
        raise Conflict("This record has no open independent reviews.")
    claims.check_unclaimed(evaluation, actor)
    _escalate_disagreement(evaluation, actor, "take over")
    reveals.record_reveal(evaluation=evaluation, reader=actor, how=reveals.How.INDEPENDENT_REVIEWS)
    save_claim(evaluation, start_claim(evaluation.run, actor))


def close(evaluation: Evaluation, waiting: Sequence[int] | None = None) -> Sequence[int]:
    """Close the open independent reviews of a locked record, and return their keys.

    `waiting` are the keys, if the caller has loaded them.
    """
    keys = open_keys(evaluation) if waiting is None else waiting
    if keys:
        IndependentReview.objects.filter(pk__in=keys).update(is_open=False)
    return keys


def same_scores(closed: Sequence[int], scores: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return for each criterion the reviewers who gave it the same score with the same words.

    `closed` are the keys of the independent reviews. Criteria without such a reviewer are left out.
    """
    found = IndependentReview.objects.filter(pk__in=closed).order_by("review__version")
    given = list(found.values_list("reviewer__username", "review__corrected_scores"))
    taken = {
        name: [who for who, theirs in given if _same_entry((theirs or {}).get(name), entry)]
        for name, entry in scores.items()
    }
    return {name: people for name, people in taken.items() if people}


def _same_entry(one: Mapping[str, Any] | None, other: Mapping[str, Any]) -> bool:
    if one is None or one.get("justification") != other.get("justification"):
        return False
    return identity(score_of(one)) == identity(score_of(other))


def reopen(review: Review) -> None:
    """Reopen the independent reviews that an undone decision had closed."""
    IndependentReview.objects.filter(pk__in=(review.before or {}).get("independent_reviews", [])).update(
        is_open=True
    )


def outdate(evaluations: Iterable[int]) -> None:
    """Close open reviews of re-imported records, unless a lead is adjudicating them."""
    waiting = IndependentReview.objects.filter(evaluation__in=[*evaluations], evaluation__is_escalated=False)
    waiting.filter(is_open=True).update(is_open=False)


def is_pending(evaluation: Evaluation, review: Review) -> bool:
    """Return whether a review is an independent review that no later decision includes."""
    is_newest = evaluation.review_id is None or evaluation.review_id < review.pk
    return is_newest and IndependentReview.objects.filter(review=review).exists()


def withdraw(*, evaluation: Evaluation, review: Review) -> None:
    """Withdraw an independent review of a locked record and restore its entries as a draft.

    The reviewer gets the record back if nobody has claimed it. Raises `RecordUnavailable` if a lead has.
    """
    reviewer = review.reviewer
    if evaluation.is_escalated:
        claims.check_unclaimed(evaluation, reviewer)
    Withdrawal.objects.create(review=review, actor=reviewer)
    IndependentReview.objects.filter(review=review).update(is_open=False)
    _withdraw_disagreement(evaluation, reviewer)
    if not evaluation.in_queue:
        close(evaluation)
    elif not evaluation.is_escalated and not evaluation.is_claimed:
        save_claim(evaluation, start_claim(evaluation.run, reviewer))
    drafts.restore(review)
    events.record("undo independent review", actor=reviewer, evaluation=evaluation, version=review.version)


def _create(evaluation: Evaluation, review: Review) -> IndependentReview:
    independent_review = IndependentReview.objects.create(
        review=review, evaluation=evaluation, reviewer=review.reviewer
    )
    review.event = events.record(
        "independent review",
        actor=review.reviewer,
        evaluation=evaluation,
        version=review.version,
        scores=review.corrected_scores,
        comments=review.comments,
        causes=review.causes,
    )
    return independent_review


def _escalate_disagreement(evaluation: Evaluation, actor: User, action: str = "disagreement") -> None:
    open_escalation(evaluation=evaluation, kind=Escalation.Kind.DISAGREEMENT, actor=actor)
    evaluation.save(update_fields=["is_escalated"])
    events.record(action, actor=actor, evaluation=evaluation)


def _withdraw_disagreement(evaluation: Evaluation, actor: User) -> None:
    disagreement = {"kind": Escalation.Kind.DISAGREEMENT, "outcome": Escalation.Outcome.OPEN}
    for escalation in evaluation.escalations.filter(**disagreement):
        end_escalation(
            escalation=escalation, evaluation=evaluation, outcome=Escalation.Outcome.WITHDRAWN, actor=actor
        )
        evaluation.save(update_fields=["is_escalated"])
