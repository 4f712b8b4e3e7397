"""The statuses of a record, and the transitions between them."""

NEEDS_REVIEW = "Needs Review"
NOT_REQUIRED = "Not Required"
COMPLETED = "Completed"
#: A record with one of these statuses waits for a decision.
QUEUE_STATUSES = (NEEDS_REVIEW, "Pending")
#: A record with one of these statuses has a decision.
DONE_STATUSES = (COMPLETED, "Reviewed")
#: `run_counts.sql` counts a random sample that a decision left "Not Required" under this name.
CONFIRMED = "Confirmed"
#: The counted statuses of records that are done.
COUNTED_AS_DONE = (*DONE_STATUSES, CONFIRMED)
ALL_STATUSES = (*QUEUE_STATUSES, NOT_REQUIRED, *DONE_STATUSES)

# (action, status before) -> status after. The state diagram in the docs is generated from this table.
#
# - "new evidence": a file changed a record that was reviewed here. The review becomes an outdated decision.
# - "close": a lead closes a record that nobody can judge, without scores.
# - "sample" and "put back": a random sample of unflagged records joins the queue here, but not in the file. A
#   decision that changes no score confirms such a record ("confirm") and leaves its line as it came.
# - "adjudicate": a lead decides between independent reviews.
# - "resolve": independent reviews agree.
# - `undo` follows a submit, adjudicate, resolve, confirm, close, revise or restore arrow backwards.
TRANSITIONS = {
    **{("submit", status): COMPLETED for status in QUEUE_STATUSES},
    **{("adjudicate", status): COMPLETED for status in QUEUE_STATUSES},
    **{("resolve", status): COMPLETED for status in QUEUE_STATUSES},
    **{("close", status): COMPLETED for status in QUEUE_STATUSES},
    **{("revise", status): COMPLETED for status in DONE_STATUSES},
    **{("restore", status): COMPLETED for status in DONE_STATUSES},
    **{("reopen", status): NEEDS_REVIEW for status in DONE_STATUSES},
    **{("new evidence", status): NEEDS_REVIEW for status in DONE_STATUSES},
    ("sample", NOT_REQUIRED): NEEDS_REVIEW,
    ("put back", NEEDS_REVIEW): NOT_REQUIRED,
    **{("confirm", status): NOT_REQUIRED for status in (NEEDS_REVIEW, COMPLETED, NOT_REQUIRED)},
    **{(action, NOT_REQUIRED): COMPLETED for action in ("revise", "restore")},
    ("reopen", NOT_REQUIRED): NEEDS_REVIEW,
}


def keeps_line(*, has_review: bool, is_sampled: bool, status: str) -> bool:
    """Return whether an export copies the record's line from the file unchanged.

    It does so without a decision, and for a sampled record whose current decision changes no score.
    """
    return not has_review or (is_sampled and status == NOT_REQUIRED)
