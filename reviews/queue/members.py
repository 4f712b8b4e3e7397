"""Restrict a run to members, or open it to everybody, and release the records of people who lose access."""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from reviews.accounts import people as accounts
from reviews.accounts.permissions import Denied, check, people_in, people_with_role
from reviews.audit import events
from reviews.models import Evaluation, Run, User
from reviews.models.runs import hidden_runs, sees_every_run
from reviews.queue.claim_columns import clear_claims, lock_free
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings, fingerprint


def current_members(run: Run) -> list[str] | None:
    """Return the usernames of a run's members, sorted; None if the run is open to everybody."""
    return sorted(run.members.values_list("username", flat=True)) if run.is_restricted else None


@transaction.atomic
def configure_members(
    *, run_id: int, actor: User | None, members: Collection[str] | None, seen: str | None = None
) -> Run:
    """Restrict a run to people with these usernames and to admins, or open it to everybody (None).

    The claims and assignments of people who lose access end. Their decisions and drafts stay. `actor=None` is
    the program itself. Raises `Denied`, `InvalidSettings`, and `SettingsChanged` if `seen` is not the
    fingerprint of the current members.
    """
    if actor:
        check(actor, "configure_run")
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    if actor and not run.is_visible_to(actor):
        raise Denied("You no longer have access to this run.")
    before = current_members(run)
    if seen is not None and seen != fingerprint(before):
        raise SettingsChanged
    people = _find_people(run, members or ())
    if members is not None and actor and not sees_every_run(actor) and actor not in people:
        problem = f"Add yourself ({actor.username}), or you lose access to this run."
        raise InvalidSettings({"members": [problem]})
    after = None if members is None else sorted({*members})
    if after == before:
        return run
    run.is_restricted = members is not None
    run.save(update_fields=["is_restricted"])
    run.members.set(people)
    events.record("configure members", actor=actor, run=run, before=before, after=after)
    if run.is_restricted:
        # A claim locks its reviewer first: it has ended by now, or will find the run restricted.
        outsiders = User.objects.exclude(pk__in=people_in(run).values("pk")).order_by("pk")
        for person in outsiders.select_for_update(no_key=True):
            release_records(person=person, actor=actor, run=run)
    return run


@transaction.atomic
def release_hidden_records(*, person: User, actor: User | None) -> None:
    """End the claims and assignments of a person in runs that they may not see, or all if they have left."""
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if not locked.is_active:
        release_records(person=locked, actor=actor)
        return
    for run in hidden_runs(locked):
        release_records(person=locked, actor=actor, run=run)


def release_left_records() -> None:
    """End the claims and assignments of people without access that an import had locked at that time."""
    claimed = Exists(Evaluation.objects.filter(claimed_by=OuterRef("pk")))
    assigned = Exists(Evaluation.objects.filter(assigned_to=OuterRef("pk")))
    for person in User.objects.filter(claimed | assigned).order_by("pk"):
        release_hidden_records(person=person, actor=None)


def _find_people(run: Run, usernames: Collection[str]) -> list[User]:
    """Return the people by their usernames: active ones with a role, or present members."""
    known = {person.username: person for person in (*run.members.all(), *people_with_role())}
    if unknown := sorted({*usernames} - {*known}):
        problems = [f"There is no reviewer, lead or admin named {name}." for name in unknown]
        raise InvalidSettings({"members": problems})
    return [known[name] for name in usernames]


def release_records(*, person: User, actor: User | None, run: Run | None = None) -> None:
    """End the claims and assignments of a locked person, in one run or in all.

    Nobody waits for an import that has locked some of them: `release_left_records` ends these later.
    """
    rows = Evaluation.objects.filter(run=run) if run else Evaluation.objects.all()
    free = lock_free(rows.filter(Q(claimed_by=person) | Q(assigned_to=person)))
    released = clear_claims(free.filter(claimed_by=person))
    unassigned = free.filter(assigned_to=person).update(assigned_to=None)
    if released or unassigned:
        counts: dict[str, Any] = {"claims": released, "assigned": unassigned}
        events.record("release all", actor=actor, run=run, username=person.username, **counts)


@transaction.atomic
def deactivate_reviewer(*, person: User, actor: User) -> None:
    """Close an account, and release the records that its person has claimed or was assigned.

    Raises `accounts.people.AccountError` if no admin would be left.
    """
    # This locks the person first. A claim that is under way has ended by then, or finds the account inactive.
    accounts.deactivate(person=person, actor=actor)
    release_records(person=person, actor=actor)


@transaction.atomic
def change_reviewer_role(*, person: User, role: str, actor: User) -> None:
    """Change a person's role, and release their records in runs that a former admin may no longer see.

    Raises `accounts.people.AccountError`.
    """
    accounts.change_role(person=person, role=role, actor=actor)
    release_hidden_records(person=person, actor=actor)
