"""Deactivate an account together with its claims and assignments."""

from typing import Any

from django.db import transaction

from reviews.accounts import people
from reviews.audit import events
from reviews.models import Evaluation, User
from reviews.queue.claim_columns import clear_claims


@transaction.atomic
def deactivate_reviewer(*, person: User, actor: User) -> None:
    """Close an account, and release the records that its person has claimed or was assigned.

    Raises `people.AccountError` if no admin would be left.
    """
    # This locks the person first. A claim that is under way has ended by then, or finds the account inactive.
    people.deactivate(person=person, actor=actor)
    released = clear_claims(Evaluation.objects.filter(claimed_by=person))
    unassigned = Evaluation.objects.filter(assigned_to=person).update(assigned_to=None)
    if released or unassigned:
        counts: dict[str, Any] = {"claims": released, "assigned": unassigned}
        events.record("release all", actor=actor, username=person.username, **counts)
