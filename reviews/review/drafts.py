"""Save a reviewer's entries before they submit.

Saving a draft writes no audit event: one review saves dozens of drafts, and its submit is audited. A claim
that continues a draft is audited with the draft's revision.
"""

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import can_revise, check
from reviews.models import Draft, Evaluation, Review, User
from reviews.queue.claims import check_claimed_by, extend_claim_if_due, lock_evaluation
from reviews.records.conflicts import DraftOutdated
from reviews.review.forms.fields import Fields, review_fields


def save(*, evaluation_id: int, reviewer: User, fields: Fields, revision: int) -> Draft:
    """Save a draft and renew the reviewer's claim.

    `revision` starts at 1 and grows with every save. Saving the same revision with the same fields again
    changes nothing. Raises `DraftOutdated` if a newer revision was saved, and `RecordUnavailable` unless the
    reviewer has the record claimed or may revise its decision. An expired claim counts while nobody else has
    the record. After an exception the saved draft is unchanged.
    """
    check(reviewer, "review_evaluation")
    with transaction.atomic():
        evaluation = lock_evaluation(evaluation_id)
        is_revision = evaluation.is_decided and can_revise(reviewer, evaluation)
        if not is_revision:
            check_claimed_by(evaluation, reviewer)
        draft = _save(evaluation, reviewer, _without_nulls(fields), revision)
        if not is_revision:
            extend_claim_if_due(evaluation, reviewer)
    return draft


def find_draft(evaluation: Evaluation, reviewer: User) -> Draft | None:
    return Draft.objects.filter(evaluation=evaluation, reviewer=reviewer).first()


def discard(*, evaluation_id: int, reviewer: User) -> None:
    Draft.objects.filter(evaluation=evaluation_id, reviewer=reviewer).delete()


def replace(evaluation: Evaluation, reviewer: User, fields: Fields) -> Draft:
    """Save other fields as the next revision of a reviewer's draft of a locked record."""
    draft = find_draft(evaluation, reviewer)
    return _save(evaluation, reviewer, _without_nulls(fields), draft.revision + 1 if draft else 1)


def restore(review: Review) -> Draft:
    """Turn an undone review into its reviewer's draft again."""
    values = {"fields": review_fields(review), "revision": 1, "saved_at": timezone.now()}
    draft, _ = Draft.objects.update_or_create(
        evaluation=review.evaluation, reviewer=review.reviewer, defaults=values
    )
    return draft


def _save(evaluation: Evaluation, reviewer: User, fields: Fields, revision: int) -> Draft:
    draft = find_draft(evaluation, reviewer) or Draft(evaluation=evaluation, reviewer=reviewer, revision=0)
    if revision == draft.revision and fields == draft.fields:
        return draft
    if revision <= draft.revision:
        raise DraftOutdated(draft.saved_at)
    draft.fields, draft.revision, draft.saved_at = fields, revision, timezone.now()
    draft.save()
    return draft


def _without_nulls(fields: Fields) -> Fields:
    """Replace U+0000, which PostgreSQL's JSON does not support."""
    return [[part.replace("\0", "\ufffd") for part in field] for field in fields]
