"""Raise `Conflict` when a record has changed since the reviewer opened it."""

from collections.abc import Sequence

from reviews.models import AuditEvent, Evaluation, Review, User
from reviews.queue.claims import check_available, format_time
from reviews.records.conflicts import Conflict, RecordReimported, RecordUnavailable
from reviews.records.scores import format_score, score_of
from reviews.review.entries import Scores

# Wording of the audit actions that change a decision.
_CHANGES = {
    "submit": "submitted this",
    "adjudicate": "adjudicated this",
    "resolve": "submitted this",
    "revise": "revised this",
    "restore": "restored an earlier decision on this",
    "close": "closed this",
    "undo": "undid a decision on this",
    "reopen": "reopened this",
    "resolve conflict": "resolved a conflict on this",
}


def check_decidable(
    evaluation: Evaluation,
    reviewer: User,
    scores: Scores | None = None,
    *,
    waiting: Sequence[int] | None = None,
) -> None:
    """Raise `RecordUnavailable` unless the reviewer may decide the record now.

    If somebody else decided first, the reason says how far `scores` differ from that decision. `waiting` is
    that of `check_available`.
    """
    try:
        check_available(evaluation, reviewer, waiting=waiting)
    except RecordUnavailable as unavailable:
        decided = evaluation.review.corrected_scores if evaluation.review and evaluation.is_decided else None
        if not decided or not scores:
            raise
        raise RecordUnavailable(f"{unavailable.reason} {_difference(decided, scores)}") from unavailable


def _difference(decided: Scores, scores: Scores) -> str:
    current, late = (
        {(name, format_score(score_of(entry))) for name, entry in one.items()} for one in (decided, scores)
    )
    count = len({name for name, _ in current ^ late})
    if not count:
        return "You agree on every criterion."
    return f"You differ on {count} {'criterion' if count == 1 else 'criteria'}."


def check_version(evaluation: Evaluation, version: int) -> None:
    """Raise `Conflict` unless the record still has this version."""
    if evaluation.version == version:
        return
    imported_at = evaluation.source_import.imported_at
    event = AuditEvent.objects.filter(evaluation=evaluation, action__in=_CHANGES, at__gt=imported_at).first()
    if event:
        raise Conflict(
            f"{event.actor_name} {_CHANGES[event.action]} at {format_time(event.at)}. Check it again."
        )
    raise RecordReimported(format_time(imported_at))


def check_current(evaluation: Evaluation, review: Review) -> None:
    """Raise `Conflict` unless this review is the current decision of a decided record."""
    newer = evaluation.review
    if newer and newer != review:
        is_independent = hasattr(review, "independent_review")
        change = "decided this after the independent reviews" if is_independent else "decided this again"
        raise Conflict(f"{newer.reviewer.name} {change} at {format_time(newer.submitted_at)}.")
    if newer is None:
        raise Conflict("This decision was already undone.")
    if not evaluation.is_decided:
        change = "A file changed this record" if evaluation.is_outdated else "This record was reopened"
        raise Conflict(f"{change} after your decision. It is in the queue again.")


def check_undisputed(evaluation: Evaluation) -> None:
    """Raise `Conflict` while a lead decides between the decision and a later review that disagrees."""
    if evaluation.is_decided and evaluation.is_escalated:
        raise Conflict("A later review disagrees with this decision. A lead will decide.")
