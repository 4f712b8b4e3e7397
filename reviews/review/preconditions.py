"""What happened to a record since somebody opened it, and whether their decision still fits it."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from reviews.models import AuditEvent, Evaluation, Review, User
from reviews.queue.claims import RecordUnavailable, check_available, format_time
from reviews.records.scores import format_score, score_of

Scores = Mapping[str, Mapping[str, Any]]

# What people did to a record, as a sentence has it, by the action of the audit event.
_DONE = {
    "submit": "submitted this",
    "resolve": "submitted this",
    "revise": "revised this",
    "restore": "restored an earlier decision on this",
    "close": "closed this",
    "undo": "took a review of this back",
    "reopen": "reopened this",
    "settle conflict": "settled a conflict over this",
}


class Conflict(Exception):
    """The decision does not fit what the record is now; nothing was changed. The reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RecordReimported(Conflict):
    """A file has changed the record since it was opened."""

    def __init__(self, at: dt.datetime) -> None:
        self.begin = f"This record was re-imported at {format_time(at)}"
        super().__init__(f"{self.begin} and has changed since you opened it.")

    def on(self, criteria: int) -> str:
        """The reason where the judge says something else of so many criteria."""
        if not criteria:
            return self.reason
        counted = f"{criteria} {'criterion' if criteria == 1 else 'criteria'}"
        return f"{self.begin} and the judge's output changed on {counted}. Check the marked rows."


def check_open(evaluation: Evaluation, reviewer: User, scores: Scores | None = None) -> None:
    """Raise `Conflict` unless the reviewer may decide the record now.

    Of a record that is decided it says how far `scores`, which come too late, are from the decision.
    """
    try:
        check_available(evaluation, reviewer)
    except RecordUnavailable as taken:
        decided = evaluation.review.corrected_scores if evaluation.review and evaluation.is_decided else None
        far = f" {_difference(decided, scores)}" if decided and scores else ""
        raise Conflict(f"{taken.reason}{far}") from taken


def _difference(decided: Scores, scores: Scores) -> str:
    ours, theirs = (
        {(name, format_score(score_of(entry))) for name, entry in one.items()} for one in (decided, scores)
    )
    count = len({name for name, _ in ours ^ theirs})
    if not count:
        return "You agree on every criterion."
    return f"You differ on {count} {'criterion' if count == 1 else 'criteria'}."


def check_version(evaluation: Evaluation, version: int) -> None:
    """Raise `Conflict` unless the record is as it was when that was its version."""
    if evaluation.version == version:
        return
    source = evaluation.source_import
    imported_at = source.finished_at or source.created_at
    event = AuditEvent.objects.filter(evaluation=evaluation, action__in=_DONE, at__gt=imported_at).first()
    if event:
        raise Conflict(
            f"{event.actor_name} {_DONE[event.action]} at {format_time(event.at)}. Check it again."
        )
    raise RecordReimported(imported_at)


def check_in_force(evaluation: Evaluation, review: Review) -> None:
    """Raise `Conflict` unless a decision made here is in force, and nobody built on it."""
    newer = evaluation.review
    if newer and newer != review:
        how = (
            "has settled this with an independent review"
            if hasattr(review, "independent_review")
            else "has decided this again"
        )
        raise Conflict(f"{newer.reviewer.name} {how} at {format_time(newer.submitted_at)}.")
    if newer is None:
        raise Conflict("This decision is taken back already.")
    if not evaluation.is_decided:
        what = "A file has changed this record" if evaluation.is_stale else "This record was reopened"
        raise Conflict(f"{what} since you decided: it is in the queue again.")


def check_settled(evaluation: Evaluation) -> None:
    """Raise `Conflict` where a lead was asked which of two independent reviews on a decided record holds."""
    if evaluation.is_decided and evaluation.is_escalated:
        raise Conflict("Somebody gave another independent review on this: a lead decides which holds.")
