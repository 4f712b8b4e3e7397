"""List the reviewers who are working now."""

import datetime as dt
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from reviews.dashboard.selection import WorkSelection, selected_rows
from reviews.models import Evaluation, User
from reviews.queue.claim_columns import CLAIM_LENGTH_SQL

# A reviewer without a claim counts as active for this long after a decision or a saved draft.
RECENTLY = dt.timedelta(minutes=15)

_IN_RUNS = "(%(run)s::bigint IS NULL OR run_id = %(run)s) AND run_id <> ALL(%(hidden_runs)s::bigint[])"
# A claim is renewed while its page is in use, so its expiry shows the last use. A prefetched record was not
# shown yet.
_LAST_SEEN = f"""
    SELECT person.id, greatest(
        (SELECT submitted_at FROM review
         WHERE reviewer_id = person.id AND origin = 'reviewer' AND {_IN_RUNS}
         ORDER BY id DESC LIMIT 1),
        (SELECT max(saved_at) FROM draft JOIN evaluation ON evaluation.id = draft.evaluation_id
         WHERE reviewer_id = person.id AND {_IN_RUNS}),
        (SELECT max(claimed_until - {CLAIM_LENGTH_SQL}) FROM evaluation JOIN run ON run.id = run_id
         WHERE claimed_by_id = person.id AND NOT claim_is_prefetched AND {_IN_RUNS})
    )
    FROM person WHERE is_active
"""  # noqa: S608 (a constant)


class ActiveReviewer(NamedTuple):
    """A reviewer at work."""

    reviewer: User
    #: Claimed records without those that are only prefetched, the earliest expiry first.
    claims: list[Evaluation]
    #: The time of the last recorded activity.
    last_seen: dt.datetime


def active_reviewers(selection: WorkSelection) -> list[ActiveReviewer]:
    """Return reviewers with a claim or recent activity in the runs of a selection, last active first."""
    claims: dict[int, list[Evaluation]] = {}
    claimed = Evaluation.objects.filter(selection.in_runs()).in_queue().in_progress()
    for evaluation in claimed.order_by("claimed_until").select_related("run").without_large_columns():
        claims.setdefault(evaluation.claimed_by_id or 0, []).append(evaluation)
    since = timezone.now() - RECENTLY
    rows = selected_rows(_LAST_SEEN, selection, claim_length=settings.CLAIM_LENGTH)
    seen = {pk: at for pk, at in rows if at and (at >= since or pk in claims)}
    people = User.objects.filter(pk__in=seen)
    present = [ActiveReviewer(person, claims.get(person.pk, []), seen[person.pk]) for person in people]
    return sorted(present, key=lambda one: one.last_seen, reverse=True)
