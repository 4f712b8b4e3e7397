"""Independent opinions of several people on one record, and what comes of them.

Where a run wants several, a submit is an opinion: a review version that is not in force. The record stays in
the queue for others; who gave one does not get it again, and nobody sees an open opinion of somebody else but
a lead who decides. The last that is wanted settles it: where all gave the same scores it is put in force,
which is for `workflow` to do, and where they differ the record goes to a lead.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple, Unpack
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import check
from reviews.audit import events, reveals
from reviews.models import Escalation, Evaluation, Opinion, Review, Run, User, Withdrawal
from reviews.queue import allocation, claims
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, save_claim, start_claim
from reviews.records.scores import identity, is_score, score_of
from reviews.review import drafts, opinion_counts, versions
from reviews.review.preconditions import Conflict, check_open
from reviews.review.versions import Decision


class Outcome(Enum):
    """What an opinion leads to: others are awaited, all agree, or they differ and a lead decides."""

    WAITS = auto()
    AGREE = auto()
    DIFFER = auto()


class Standing(NamedTuple):
    """How far a record is that waits for opinions: how many there are of how many, and the asker's own."""

    given: int
    wanted: int
    own: Opinion | None


class Given(NamedTuple):
    """An opinion that was given: its review, all that are open on the record with it, and what follows."""

    review: Review
    opinions: list[Opinion]
    outcome: Outcome


def waiting_on(evaluation: Evaluation) -> list[int]:
    """The keys of the opinions that wait for a decision."""
    waiting = evaluation.opinions.filter(is_open=True)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def are_wanted(evaluation: Evaluation, waiting: Sequence[int]) -> bool:
    """Whether a submit of the record, on which these opinions wait, is an opinion.

    Not where a lead was asked, nor where a decision is in force: its reviewer reads what was decided before.
    """
    if evaluation.is_escalated or evaluation.review_id is not None:
        return False
    wanted = allocation.required_opinions(evaluation.run, evaluation.evaluation_id)
    return wanted > 1 or bool(waiting)


def open_on(evaluation: Evaluation) -> list[Opinion]:
    """The opinions that wait for a decision, the oldest first, with their reviewers."""
    found = evaluation.opinions.filter(is_open=True).select_related("review__reviewer", "reviewer")
    return list(found.order_by("review__version"))


def readable_by(evaluation: Evaluation, reader: User) -> list[Opinion]:
    """The open opinions of others that a lead may read: once they took the record over, or it is decided.

    Before, they could still give an independent opinion themselves.
    """
    is_over = evaluation.is_decided or reveals.has_read_opinions(evaluation, reader)
    return open_on(evaluation) if is_over else []


def standing(evaluation: Evaluation, user: User) -> Standing:
    """Of a record that waits for its first decision; of any other, that no opinion is given."""
    given = open_on(evaluation) if evaluation.in_queue and evaluation.review_id is None else []
    wanted = max(allocation.required_opinions(evaluation.run, evaluation.evaluation_id), len(given) + 1)
    own = next((opinion for opinion in given if opinion.reviewer_id == user.pk), None)
    return Standing(len(given), wanted, own)


def agree(reviews: Iterable[Review]) -> bool:
    """Whether all gave the same scores to the same criteria."""
    first, *others = (_scores(review) for review in reviews)
    return all(other == first for other in others)


def _scores(review: Review) -> dict[str, Any]:
    scores = {name: score_of(entry) for name, entry in (review.corrected_scores or {}).items()}
    return {name: identity(score) if is_score(score) else score for name, score in scores.items()}


def problem(run: Run) -> str:
    """Why a run cannot get the opinions it wants, as a sentence; empty where it can."""
    people = User.objects.filter(is_active=True, groups__permissions__codename="review_evaluation")
    count = people.distinct().count()
    if not run.overlap_share or run.overlap <= count:
        return ""
    can = "1 person" if count == 1 else f"{count} people"
    return (
        f"{run.overlap} people are to review the same record and only {can} can. Such a record waits, "
        "until there are more or a lead decides with the opinions there are."
    )


def give(evaluation: Evaluation, reviewer: User, submission: UUID, decision: Decision) -> Given:
    """Add an opinion on a locked record, which nobody holds afterwards.

    What all agree on is not in force yet, and not counted: the caller does both, in this order.
    """
    before = open_on(evaluation)
    keys = [opinion.pk for opinion in before]
    review = versions.add(evaluation, reviewer, submission, decision, opinions=keys)
    given = [*before, _keep(evaluation, review)]
    _leave_to_others(evaluation, reviewer)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    if len(given) < allocation.required_opinions(evaluation.run, evaluation.evaluation_id):
        return Given(review, given, Outcome.WAITS)
    if agree(opinion.review for opinion in given):
        close(evaluation)
        return Given(review, given, Outcome.AGREE)
    _hand_to_lead(evaluation, reviewer)
    return Given(review, given, Outcome.DIFFER)


@transaction.atomic
def add(
    *, evaluation_id: int, reviewer: User, version: int, submission: UUID, **decision: Unpack[Decision]
) -> Review:
    """Put an opinion beside a decision that is in force: the reviewer came too late to decide.

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
        check_open(evaluation, reviewer, decision["scores"])
    review = versions.add(evaluation, reviewer, submission, decision)
    _keep(evaluation, review)
    drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    # So that both are there side by side, as they are where opinions were asked for.
    beside = {"evaluation": evaluation, "reviewer": in_force.reviewer}
    Opinion.objects.update_or_create(review=in_force, defaults=beside | {"is_open": True})
    if not evaluation.is_escalated:
        if agree([in_force, review]):
            close(evaluation)
        else:
            _hand_to_lead(evaluation, reviewer)
    return review


def _decided_by_another(evaluation: Evaluation, reviewer: User) -> Review:
    """The decision that an opinion can stand beside. Raises `Conflict`."""
    in_force = evaluation.review
    if in_force is None or evaluation.in_queue:
        raise Conflict("Nothing is decided here any more: submit it instead.")
    if in_force.is_from_file:
        raise Conflict("This decision came with a file: there is nobody's opinion to put another beside.")
    if in_force.reviewer_id == reviewer.pk:
        raise Conflict("The decision in force is yours. Revise it instead.")
    given = evaluation.opinions.filter(reviewer=reviewer, review__withdrawal=None)
    place = {"source_import": evaluation.source_import_id, "source_line": evaluation.source_line}
    if given.filter(**{f"review__{name}": value for name, value in place.items()}).exists():
        raise Conflict("You gave your opinion on this already.")
    return in_force


@transaction.atomic
def call(*, evaluation_id: int, actor: User) -> None:
    """As a lead, decide on a record with the opinions there are: it is theirs from now on.

    They may read the opinions from now on, and give none of their own any more. Raises `queue.Taken` when
    somebody else holds the record, and `Conflict` when it waits for no opinions.
    """
    check(actor, "lead_review")
    evaluation = claims.lock_evaluation(evaluation_id)
    if evaluation.is_escalated or not evaluation.opinions.filter(is_open=True).exists():
        raise Conflict("This record does not wait for opinions.")
    claims.check_unclaimed(evaluation, actor)
    _hand_to_lead(evaluation, actor, "take opinions")
    reveals.record_reveal(evaluation, actor, reveals.How.OPINIONS)
    save_claim(evaluation, start_claim(evaluation.run, actor))


def close(evaluation: Evaluation, waiting: Sequence[int] | None = None) -> Sequence[int]:
    """Let the open opinions of a locked record, `waiting` if they are known, wait no more: it is decided.

    Gives their keys.
    """
    keys = waiting_on(evaluation) if waiting is None else waiting
    if keys:
        Opinion.objects.filter(pk__in=keys).update(is_open=False)
    return keys


def reopen(review: Review) -> None:
    """Let the opinions that a decision settled wait again: it was taken back, and is no opinion itself."""
    Opinion.objects.filter(pk__in=(review.before or {}).get("opinions", [])).update(is_open=True)


def recount(evaluation: Evaluation, taken_back: Review) -> None:
    """Take a record out of the counts if a review that was taken back is one of its opinions there."""
    if evaluation.opinions.filter(review=taken_back, is_counted=True).exists():
        opinion_counts.uncount(evaluation)


def outdate(evaluations: Iterable[int]) -> None:
    """Let opinions on evidence that a file has changed wait no more, unless a lead was asked about them."""
    waiting = Opinion.objects.filter(evaluation__in=[*evaluations], evaluation__is_escalated=False)
    waiting.filter(is_open=True).update(is_open=False)


def is_aside(evaluation: Evaluation, review: Review) -> bool:
    """Whether a review is an opinion on which nothing in force was built."""
    is_newest = evaluation.review_id is None or evaluation.review_id < review.pk
    return is_newest and Opinion.objects.filter(review=review).exists()


def take_back(evaluation: Evaluation, review: Review) -> None:
    """Withdraw an opinion of a locked record. What was entered is a draft again; nobody else is needed.

    The record is the reviewer's again if it is free. Raises `Conflict` when a lead is at it.
    """
    reviewer = review.reviewer
    if evaluation.is_escalated:
        try:
            claims.check_unclaimed(evaluation, reviewer)
        except claims.Taken as taken:
            raise Conflict(taken.reason) from taken
    Withdrawal.objects.create(review=review, actor=reviewer)
    Opinion.objects.filter(review=review).update(is_open=False)
    _end_disagreement(evaluation, reviewer)
    if not evaluation.in_queue:
        close(evaluation)
    elif not evaluation.is_escalated and not evaluation.is_claimed:
        save_claim(evaluation, start_claim(evaluation.run, reviewer))
    drafts.refill(review)
    _record("take back opinion", evaluation, reviewer, version=review.version)
    recount(evaluation, review)


def _leave_to_others(evaluation: Evaluation, reviewer: User) -> None:
    """Free a record on which a reviewer has said what they have to say."""
    if evaluation.assigned_to_id == reviewer.pk:
        evaluation.assigned_to = None
    evaluation.save(update_fields=["assigned_to", *assign_claim(evaluation, NO_CLAIM)])
    evaluation.skips.filter(reviewer=reviewer).delete()


def _keep(evaluation: Evaluation, review: Review) -> Opinion:
    opinion = Opinion.objects.create(review=review, evaluation=evaluation, reviewer=review.reviewer)
    _record(
        "opinion",
        evaluation,
        review.reviewer,
        version=review.version,
        scores=review.corrected_scores,
        comments=review.comments,
        causes=review.causes,
    )
    return opinion


def _hand_to_lead(evaluation: Evaluation, actor: User, action: str = "opinions differ") -> None:
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
