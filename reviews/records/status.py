"""The statuses of a record, and the transitions between them."""

from reviews.records.schema import DONE_WORDS, NEEDS_REVIEW, NOT_REQUIRED, QUEUE_WORDS

COMPLETED = "Completed"

# (action, status before) -> status after. The state diagram in the docs is generated from this table.
#
# - "new evidence": a file changed a record that was reviewed here. The review becomes an outdated decision.
# - "close": a lead closes a record that nobody can judge, without scores.
# - "sample" and "put back": a random sample of unflagged records joins the queue here, but not in the file. A
#   decision that changes no score confirms such a record ("confirm") and leaves its line as it came.
# - "resolve": independent reviews agree.
# - `undo` follows a submit, resolve, confirm, close, revise or restore arrow backwards.
TRANSITIONS = {
    **{("submit", word): COMPLETED for word in QUEUE_WORDS},
    **{("resolve", word): COMPLETED for word in QUEUE_WORDS},
    **{("close", word): COMPLETED for word in QUEUE_WORDS},
    **{("revise", word): COMPLETED for word in DONE_WORDS},
    **{("restore", word): COMPLETED for word in DONE_WORDS},
    **{("reopen", word): NEEDS_REVIEW for word in DONE_WORDS},
    **{("new evidence", word): NEEDS_REVIEW for word in DONE_WORDS},
    ("sample", NOT_REQUIRED): NEEDS_REVIEW,
    ("put back", NEEDS_REVIEW): NOT_REQUIRED,
    **{("confirm", word): NOT_REQUIRED for word in (NEEDS_REVIEW, COMPLETED, NOT_REQUIRED)},
    **{(action, NOT_REQUIRED): COMPLETED for action in ("revise", "restore")},
    ("reopen", NOT_REQUIRED): NEEDS_REVIEW,
}
