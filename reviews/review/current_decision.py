"""Make a review version the current decision of its record."""

from collections.abc import Mapping
from typing import Any

from reviews.audit import events
from reviews.models import Evaluation, Review, SpotCheck, User
from reviews.queue import allocation
from reviews.queue.claim_columns import NO_CLAIM, assign_claim, start_claim
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import TRANSITIONS
from reviews.review import drafts
from reviews.review import versions as review_versions
from reviews.storage.line_reader import stored_record


def make_current(
    *,
    action: str,
    evaluation: Evaluation,
    review: Review,
    also: Mapping[str, Any] | None = None,
    has_draft: bool = True,
) -> None:
    """Make a version the current decision of a locked record, and audit it. `also` adds to the event.

    `has_draft` is false if the caller knows that the reviewer has no draft of the record.
    """
    before, reviewer = evaluation.human, review.reviewer
    entered: dict[str, Any] = {}
    if review_versions.confirms_judge(evaluation, review):
        _leave_line(evaluation)
        # The record keeps the values of its line, so the event has the reviewer's.
        entered = {"scores": review.corrected_scores, "comments": review.comments}
    else:
        evaluation.human_review_status = TRANSITIONS[action, evaluation.human_review_status]
        evaluation.human_reviewer_id = reviewer.username
        evaluation.human_review_timestamp = review.submitted_at
        evaluation.human_corrected_scores = review.corrected_scores
        evaluation.human_review_comments = review.comments
    evaluation.review, evaluation.is_outdated = review, False
    save_decision(evaluation)
    if has_draft:
        drafts.discard(evaluation_id=evaluation.pk, reviewer=reviewer)
    review.event = events.record(
        action,
        actor=reviewer,
        evaluation=evaluation,
        version=review.version,
        human=human_changes(before, evaluation),
        causes=review.causes,
        **entered,
        **also or {},
    )


def draw_for_spot_check(evaluation: Evaluation, review: Review) -> None:
    """Draw a new current decision into the standing sample of its run, which leads check.

    The share of the run and the record's id determine the result, so the audit log needs no event of its own.
    Called in the transaction of the decision.
    """
    if allocation.is_spot_checked(evaluation.run, evaluation.evaluation_id, review.version):
        SpotCheck.objects.create(review=review, run_id=review.run_id, reviewer_id=review.reviewer_id)


def _leave_line(evaluation: Evaluation) -> None:
    """Restore the human values of a random sample's line, because the reviewer corrected nothing."""
    status = TRANSITIONS["confirm", evaluation.human_review_status]
    if not evaluation.keeps_line:
        line = stored_record(evaluation)
        for name in HUMAN_FIELDS:
            setattr(evaluation, name, getattr(line, name))
    evaluation.human_review_status = status


def human_changes(before: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Return the human values before and after, as the audit log keeps them."""
    changes = {"before": before, "after": evaluation.human}
    return changes | events.KEEPS_LINE if evaluation.is_sampled and evaluation.keeps_line else changes


def save_decision(evaluation: Evaluation, claimed_by: User | None = None) -> None:
    """Save the columns that a decision changes in a locked record, and claim or release the record."""
    evaluation.version += 1
    claim = assign_claim(evaluation, start_claim(evaluation.run, claimed_by) if claimed_by else NO_CLAIM)
    columns = ("review", "is_sampled", "sample_probability", "is_outdated", "is_escalated", "version")
    evaluation.save(update_fields=[*HUMAN_FIELDS, *columns, *claim])
