"""Load the counts of a review screen, and whether it has to load further rows, with one query."""

import datetime as dt
from typing import Any, NamedTuple

from reviews.accounts.preferences import FIRST_DECISIONS
from reviews.database.statements import fetch_all
from reviews.days import midnight
from reviews.models import Evaluation, User
from reviews.queue.progress import PROGRESS_OF_RUN, Progress

# Rows that most records do not have are looked for here, and loaded only if there are some.
_SCREEN = f"""
    SELECT counted.*,
           (SELECT count(DISTINCT evaluation_id) FROM review
            WHERE reviewer_id = %(reviewer)s AND origin = 'reviewer' AND submitted_at >= %(midnight)s
              AND NOT EXISTS (SELECT FROM withdrawal WHERE review_id = review.id)),
           (SELECT count(*) FROM (SELECT FROM review WHERE reviewer_id = %(reviewer)s LIMIT %(most)s) made),
           EXISTS (SELECT FROM draft WHERE evaluation_id = %(evaluation)s AND reviewer_id = %(reviewer)s),
           EXISTS (SELECT FROM blind_scores
                   WHERE evaluation_id = %(evaluation)s AND reviewer_id = %(reviewer)s),
           EXISTS (SELECT FROM independent_review WHERE evaluation_id = %(evaluation)s AND is_open),
           EXISTS (SELECT FROM escalation WHERE evaluation_id = %(evaluation)s),
           EXISTS (SELECT FROM escalation WHERE raised_by_id = %(reviewer)s AND answer_read_at IS NULL
                   AND outcome IN ('returned', 'decided', 'closed', 'upheld'))
    FROM ({PROGRESS_OF_RUN}) counted
"""  # noqa: S608 (a constant)


class ScreenBasis(NamedTuple):
    """The counts of a screen, and which rows of its record and its reviewer exist."""

    progress: Progress
    #: Number of records that the reviewer has decided today.
    done_today: int
    #: Number of the reviewer's decisions, up to `FIRST_DECISIONS`.
    decisions: int
    has_draft: bool
    #: Whether the reviewer has locked in scores, perhaps on earlier evidence.
    has_blind_scores: bool
    #: Whether independent reviews are open.
    has_independent_reviews: bool
    #: Whether the record was ever escalated.
    was_escalated: bool
    #: Whether the reviewer has an unread answer, perhaps in a run that they may no longer see.
    may_have_answers: bool


def load_screen_basis(evaluation: Evaluation, reviewer: User, now: dt.datetime) -> ScreenBasis:
    """Load the basis of a screen. "Today" begins at midnight in the time zone of `now`."""
    values: dict[str, Any] = {
        "run": evaluation.run_id,
        "reviewer": reviewer.pk,
        "evaluation": evaluation.pk,
        "most": FIRST_DECISIONS,
        "midnight": midnight(now.date(), now.tzinfo or dt.UTC),
    }
    [(_run, *found)] = fetch_all(_SCREEN, values)
    size = len(Progress._fields)
    return ScreenBasis(Progress(*found[:size]), *found[size:])
