"""Save entries that are not submitted yet, while the reviewer types and holds the record.

A draft that is saved leaves no audit event: a review of one record saves dozens, and the review tells of
what became of them. A claim that goes on with a draft, after an earlier claim was lost, tells so.
"""

from typing import Any

from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import can_revise, check
from reviews.models import Draft, Evaluation, Review, User
from reviews.queue.claims import check_claimed_by, extend_claim_if_due, lock_evaluation
from reviews.records.scores import identity, is_score, score_of
from reviews.review import file_decisions
from reviews.review.file_decisions import text_of
from reviews.rubric import definition
from reviews.rubric.proposals import read_proposals

Fields = list[list[str]]


class Outdated(Exception):
    """A newer revision is there, of another tab or a request that overtook this one. It stays."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(f"Revision {draft.revision} of the {draft} is newer.")
        self.draft = draft


def save(*, evaluation_id: int, reviewer: User, fields: Fields, revision: int) -> Draft:
    """Keep what a reviewer has entered, and hold the record for them.

    `fields` is [[name, value], ...] as the review form posts them; `revision` is from 1 and grows with every
    save. The same revision with the same fields, sent twice, is saved once. Raises `Outdated` when a newer
    one is there, and `RecordUnavailable` unless they hold the record (also by a claim that ran out, if nobody
    took it) or may revise its decision: then nothing is saved, and what they saved before stays.
    """
    check(reviewer, "review_evaluation")
    with transaction.atomic():
        evaluation = lock_evaluation(evaluation_id)
        is_revision = evaluation.is_decided and can_revise(reviewer, evaluation)
        if not is_revision:
            check_claimed_by(evaluation, reviewer)
        draft = _keep(evaluation, reviewer, _storable(fields), revision)
        if not is_revision:
            extend_claim_if_due(evaluation, reviewer)
    return draft


def of(evaluation: Evaluation, reviewer: User) -> Draft | None:
    return Draft.objects.filter(evaluation=evaluation, reviewer=reviewer).first()


def discard(*, evaluation_id: int, reviewer: User) -> None:
    Draft.objects.filter(evaluation=evaluation_id, reviewer=reviewer).delete()


def replace(evaluation: Evaluation, reviewer: User, fields: Fields) -> Draft:
    """Put other fields into a reviewer's draft of a locked record."""
    draft = of(evaluation, reviewer)
    return _keep(evaluation, reviewer, _storable(fields), draft.revision + 1 if draft else 1)


def refill(review: Review) -> Draft:
    """Make of a review that was taken back a draft of its reviewer, as if it had not been submitted."""
    values = {"fields": _fields_of(review), "revision": 1, "saved_at": timezone.now()}
    draft, _ = Draft.objects.update_or_create(
        evaluation=review.evaluation, reviewer=review.reviewer, defaults=values
    )
    return draft


def _keep(evaluation: Evaluation, reviewer: User, fields: Fields, revision: int) -> Draft:
    draft = of(evaluation, reviewer) or Draft(evaluation=evaluation, reviewer=reviewer, revision=0)
    if revision == draft.revision and fields == draft.fields:
        return draft
    if revision <= draft.revision:
        raise Outdated(draft)
    draft.fields, draft.revision, draft.saved_at = fields, revision, timezone.now()
    draft.save()
    return draft


def _storable(fields: Fields) -> Fields:
    """PostgreSQL's JSON has no U+0000."""
    return [[part.replace("\0", "\ufffd") for part in field] for field in fields]


def _fields_of(review: Review) -> Fields:
    """The fields that would be posted to submit the review as it is."""
    judged_by = definition.of(review.evaluation.run)
    proposals = {proposal.criterion: proposal for proposal in read_proposals(review.evaluation, judged_by)}
    scores, filed = review.corrected_scores or {}, file_decisions.of(review.evaluation)
    fields = []
    for number, name in enumerate([*proposals, *(name for name in scores if name not in proposals)]):
        row = f"criteria-{number}"
        fields.append([f"{row}-name", name])
        if name not in scores:
            fields.append([f"{row}-removed", "on"])
            continue
        score = score_of(scores[name])
        in_file = score_of(filed.scores.get(name)) if filed else None
        choices = judged_by.choices(proposals[name].score if name in proposals else None, in_file)
        value = next((choice.value for choice in choices if _same(choice.score, score)), "")
        fields.append([f"{row}-score", value])
        fields.append([f"{row}-justification", text_of(scores[name])])
        fields.append([f"{row}-cause", review.causes.get(name, "")])
    return [*fields, ["comments", review.comments or ""]]


def _same(one: Any, other: Any) -> bool:
    return is_score(one) and is_score(other) and identity(one) == identity(other)
