"""The claim on a record: its length, which is a setting of each run or else of the site, and its columns.

Only this package writes the columns of `evaluation`.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from reviews.models import Evaluation, Run, User

# `claim_length` in SQL. Takes the table `run` and the parameter `claim_length`, the setting of the site.
CLAIM_LENGTH_SQL = "coalesce(make_interval(mins => run.claim_minutes), %(claim_length)s)"
_MAX_RENEWAL_INTERVAL = dt.timedelta(minutes=1)


class Claim(NamedTuple):
    """The claim columns of a record, by their names."""

    #: The reviewer, or None where the record is not claimed.
    claimed_by: User | None
    #: When the claim expires. A claim that has expired stays in the columns until somebody else claims.
    claimed_until: dt.datetime | None
    #: Whether the record was claimed ahead of time and is not on a screen yet.
    claim_is_prefetched: bool = False


NO_CLAIM = Claim(None, None)


def claim_length(run: Run) -> dt.timedelta:
    return dt.timedelta(minutes=run.claim_minutes) if run.claim_minutes else settings.CLAIM_LENGTH


def renewal_interval(run: Run) -> dt.timedelta:
    """Return how often an open page renews its claim. Several renewals may fail before the claim expires."""
    return min(_MAX_RENEWAL_INTERVAL, claim_length(run) / 5)


def start_claim(run: Run, reviewer: User) -> Claim:
    """Return a claim of full length that starts now."""
    return Claim(reviewer, timezone.now() + claim_length(run))


def start_prefetch(run: Run, reviewer: User) -> Claim:
    """Return a claim on a prefetched record, which expires sooner: its page may never be shown."""
    return Claim(reviewer, timezone.now() + claim_length(run) / 3, claim_is_prefetched=True)


def assign_claim(evaluation: Evaluation, claim: Claim) -> tuple[str, ...]:
    """Set the claim columns of a locked record. Return their names, for the caller to save."""
    for name, value in claim._asdict().items():
        setattr(evaluation, name, value)
    return Claim._fields


def save_claim(evaluation: Evaluation, claim: Claim) -> None:
    """Save a claim to a locked record."""
    evaluation.save(update_fields=assign_claim(evaluation, claim))


def clear_claims(rows: QuerySet[Evaluation]) -> int:
    """Clear the claim columns of these records. Return how many there are."""
    return rows.update(**NO_CLAIM._asdict())


def lock_free(rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Lock those of these records that no other transaction has locked, and return them.

    An import may hold the others for minutes, and wait for what the caller has locked.
    """
    free = rows.order_by("pk").select_for_update(of=("self",), no_key=True, skip_locked=True)
    return Evaluation.objects.filter(pk__in=list(free.values_list("pk", flat=True)))


def stored_claims(rows: QuerySet[Evaluation]) -> dict[int, Claim]:
    """Return the claims of these records by key, before the rows are replaced."""
    claimed = rows.filter(claimed_by__isnull=False).select_related("claimed_by").only(*Claim._fields)
    return {row.pk: Claim(row.claimed_by, row.claimed_until, row.claim_is_prefetched) for row in claimed}


def put_back_claims(claims: Mapping[int, Claim]) -> int:
    """Store claims in the replaced rows, and return their number. Records outside the queue get none."""
    in_queue = Evaluation.objects.in_queue()
    return sum(in_queue.filter(pk=key).update(**claim._asdict()) for key, claim in claims.items())


def restore_claims(rows: QuerySet[Evaluation], run: Run, *, claimed_by: Any) -> None:
    """Claim these records of a run again, each for the reviewer that the expression `claimed_by` gives."""
    rows.update(**start_claim(run, claimed_by)._asdict())
