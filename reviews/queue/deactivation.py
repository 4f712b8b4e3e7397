"""Deactivate an account or change its role, together with its claims and assignments."""

from django.db import transaction

from reviews.accounts import people
from reviews.models import User
from reviews.queue.members import release_hidden_records, release_records


@transaction.atomic
def deactivate_reviewer(*, person: User, actor: User) -> None:
    """Close an account, and release the records that its person has claimed or was assigned.

    Raises `people.AccountError` if no admin would be left.
    """
    # This locks the person first. A claim that is under way has ended by then, or finds the account inactive.
    people.deactivate(person=person, actor=actor)
    release_records(person=person, actor=actor)


@transaction.atomic
def change_reviewer_role(*, person: User, role: str, actor: User) -> None:
    """Change a person's role, and release their records in runs that a former admin may no longer see.

    Raises `people.AccountError`.
    """
    people.change_role(person=person, role=role, actor=actor)
    release_hidden_records(person=person, actor=actor)
