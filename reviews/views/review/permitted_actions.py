"""The claim of a record, and the actions that a person may take on its review screen."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from reviews.accounts.permissions import can, can_revise
from reviews.http.request import Request
from reviews.models import Evaluation
from reviews.review import independent_reviews


def permitted_actions(
    request: Request, record: Evaluation, *, has_open_reviews: bool = True
) -> dict[str, Any]:
    """Return the context about the claim of a record and about the person's permissions.

    `has_open_reviews` is false if the caller knows that no independent review is open.
    """
    user = request.user
    is_lead = can(user, "lead_review")
    is_claimed = record.in_queue and record.is_claimed
    own = is_claimed and record.claimed_by_id == user.pk
    claimed_by_other = is_claimed and not own
    review_progress = independent_reviews.review_progress(record, user, has_open=has_open_reviews)
    # After an independent review the reviewer waits for the others. Disagreements are for leads.
    is_theirs = is_lead if record.is_escalated else review_progress.own is None
    return {
        "evaluation": record,
        "run": record.run,
        "own": own,
        "claimed_by_other": claimed_by_other,
        "can_submit": record.in_queue and not claimed_by_other and is_theirs and not record.run.archived_at,
        "can_revise": can_revise(user, record) and not record.run.archived_at,
        "can_release": claimed_by_other and is_lead,
        "is_lead": is_lead,
        "review_progress": review_progress,
        "can_add_review": _can_add_review(request, record),
        "submit_url": reverse("revise" if record.is_decided else "submit", args=[record.pk]),
    }


def remedy(actions: Mapping[str, Any], *, is_typed: bool) -> str:
    """Return how a person can go on with a record they cannot submit: `add`, `revise` or `take over`, or "".

    `actions` is returned by `permitted_actions`. `is_typed` says whether there are entries to save.
    """
    if is_typed and actions["can_add_review"]:
        return "add"
    if is_typed and actions["can_revise"] and actions["evaluation"].is_decided:
        return "revise"
    return "take over" if actions["can_release"] else ""


def _can_add_review(request: Request, record: Evaluation) -> bool:
    """Return whether somebody else made the current decision here, so that a late review can be added."""
    current = record.review if record.is_decided else None
    return current is not None and not current.is_from_file and current.reviewer != request.user
