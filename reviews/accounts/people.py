"""Add accounts, change their roles, and deactivate them.

Invitations and password links are in `one_time_links`, sessions in `sessions`.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from cognireview.types.encoding import members
from cognireview.types.people import Person
from reviews.accounts import api_tokens, sessions
from reviews.accounts.permissions import ROLES, loaded_role, role_of
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import AuditEvent, Draft, OneTimeLink, Review, User, usernames

_IS_ADMIN = Q(groups__name="admin") | Q(is_superuser=True)


class AccountError(Exception):
    """The account cannot be added or changed; `reason` is a sentence.

    `field` is the value at fault: username, password, role, email, person or token.
    """

    def __init__(self, reason: str, field: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


def all_people() -> QuerySet[User]:
    """Return all people by name, annotated with `has_second_factor` and `is_from_provider`. Two queries."""
    factors = Authenticator.objects.filter(user=OuterRef("pk"))
    accounts = SocialAccount.objects.filter(user=OuterRef("pk"))
    people = User.objects.annotate(has_second_factor=Exists(factors), is_from_provider=Exists(accounts))
    return people.order_by("username").prefetch_related("groups")


def find_people(words: str = "", role: str = "", *, is_active: bool | None = None) -> QuerySet[User]:
    """Return the people whose names or e-mail address contain all words. The role "none" means no role."""
    people = all_people()
    for word in words.split():
        is_found = Q(username__icontains=word) | Q(email__icontains=word)
        is_found |= Q(first_name__icontains=word) | Q(last_name__icontains=word)
        people = people.filter(is_found)
    if role:
        in_role = User.objects.filter(groups__name__in=[role] if role in ROLES else ROLES)
        people = people.filter(pk__in=in_role) if role in ROLES else people.exclude(pk__in=in_role)
    return people if is_active is None else people.filter(is_active=is_active)


class Activity(NamedTuple):
    """When a person last did something; None for never."""

    decision: dt.datetime | None
    draft: dt.datetime | None
    login: dt.datetime | None

    @property
    def latest(self) -> tuple[str, dt.datetime] | None:
        """The name and the time of the last activity; None without any."""
        named = {"decision": self.decision, "draft": self.draft, "login": self.login}
        found = [(at, name) for name, at in named.items() if at]
        return (max(found)[1], max(found)[0]) if found else None


def last_activity(people: Iterable[User]) -> dict[int, Activity]:
    """Return the last activity of people by primary key (one query, by indexes)."""
    keys = [person.pk for person in people]
    decisions = Review.objects.by_reviewers().filter(reviewer=OuterRef("pk")).order_by("-pk")
    drafts = Draft.objects.filter(reviewer=OuterRef("pk")).order_by("-saved_at")
    rows = User.objects.filter(pk__in=keys).values_list(
        "pk",
        Subquery(decisions.values("submitted_at")[:1]),
        Subquery(drafts.values("saved_at")[:1]),
        "last_login",
    )
    return {pk: Activity(*times) for pk, *times in rows}


def describe(people: Sequence[User]) -> list[dict[str, Any]]:
    """Return accounts as JSON, for the API and commands."""
    activity = last_activity(people)
    return [
        members(
            Person,
            person,
            role=loaded_role(person),
            last_active_at=latest[1].isoformat() if (latest := activity[person.pk].latest) else None,
        )
        for person in people
    ]


def find_faults(*, username: str | None = None, password: str | None = None) -> list[tuple[str, str]]:
    """Return every fault of a new account's username and password, as pairs of field and sentence."""
    faults = []
    user = User(username=username or "")
    checks: list[Callable[[], None]] = []
    if username is not None:
        checks.append(partial(_check_username, user))
    if password is not None:
        checks.append(partial(check_password, password, user))
    for check in checks:
        try:
            check()
        except AccountError as error:
            faults.append((error.field, error.reason))
    return faults


@transaction.atomic
def add_user(
    *,
    username: str,
    password: str | None,
    role: str,
    actor: User | None,
    columns: Mapping[str, str] = MappingProxyType({}),
    **detail: Any,
) -> User:
    """Add an account with a role (a key of `ROLES`). `actor=None` is the program itself.

    Without a password, the person can sign in by the provider only. `columns` sets e-mail address and names;
    `detail` goes into the audit event. Raises `AccountError`.
    """
    check_role(role)
    lock_accounts()
    user = User(username=username, **columns)
    _check_username(user)
    if password is None:
        user.set_unusable_password()
    else:
        check_password(password, user)
        user.set_password(password)
    user.save()
    user.groups.add(Group.objects.get(name=role))
    events.record("user added", actor=actor, username=user.username, role=role, **detail)
    return user


@transaction.atomic
def create_first_admin(*, username: str, password: str, token: str) -> User:
    """Add the first admin by the setup link. Of two concurrent requests, one succeeds.

    Raises `AccountError`.
    """
    if not constant_time_compare(token, welcome_token()):
        raise AccountError("This is not the setup link printed at the first start.", "token")
    lock_accounts()
    if not needs_first_admin():
        raise AccountError("This link was already used: there is an admin.", "token")
    return add_user(username=username, password=password, role="admin", actor=None)


def welcome_token() -> str:
    """Return the secret part of the setup link, which is valid until there is an admin."""
    return salted_hmac("reviews.accounts.people.welcome", "first admin", algorithm="sha256").hexdigest()[:40]


def needs_first_admin() -> bool:
    """Return whether there was never an admin. The setup link stays used after that admin has left."""
    if User.objects.filter(_IS_ADMIN).exists():
        return False
    return not AuditEvent.objects.filter(action="user added", detail__role="admin").exists()


@transaction.atomic
def change_role(*, person: User, role: str, actor: User) -> None:
    """Change a person's role. Raises `AccountError`, also if no admin would be left."""
    check_role(role)
    lock_accounts()
    if role != "admin":
        _check_not_last_admin(person)
    _set_role(person, role, actor)


@transaction.atomic
def set_role_from_provider(*, person: User, role: str) -> None:
    """Set a person's role to the provider's. An empty role ends all access at once, even the last admin's."""
    lock_accounts()
    _set_role(person, role, None)
    if not role:
        sessions.end_all(person)
        api_tokens.revoke_all(person=person, actor=None)


@transaction.atomic
def reset_second_factor(*, person: User, actor: User) -> None:
    """Remove app, passkeys and recovery codes from an account. Then the password is enough to sign in."""
    removed = Authenticator.objects.filter(user=person)
    kinds = sorted(removed.values_list("type", flat=True))
    removed.delete()
    events.record("second factor reset", actor=actor, username=person.username, kinds=kinds)


@transaction.atomic
def deactivate(*, person: User, actor: User) -> None:
    """Deactivate an account: end its sessions, tokens and links. Its decisions stay.

    Raises `AccountError` if no admin would be left. `queue.members` also releases the person's records.
    """
    lock_accounts()
    _check_not_last_admin(person)
    # A concurrent claim by this person locks the same row: it has finished, or will see the inactive account.
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    locked.is_active = False
    locked.save(update_fields=["is_active"])
    ended, revoked = sessions.end_all(person), api_tokens.revoke_all(person=person, actor=actor)
    counts: dict[str, Any] = {"links": _withdraw_links(person), "tokens": revoked}
    events.record("person deactivated", actor=actor, username=person.username, sessions=ended, **counts)


@transaction.atomic
def reactivate(*, person: User, actor: User) -> None:
    """Reactivate an account with its former role."""
    # A login may have been in progress when the account was deactivated.
    sessions.end_all(person)
    api_tokens.revoke_all(person=person, actor=actor)
    User.objects.filter(pk=person.pk).update(is_active=True)
    events.record("person reactivated", actor=actor, username=person.username)


@transaction.atomic
def set_password(*, person: User, password: str, actor: User | None) -> int:
    """Set a password without asking for the old one. Return the number of revoked tokens.

    Somebody else may know the old password, so all sessions and tokens of the account end. The caller
    records the event. Raises `AccountError`.
    """
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    check_password(password, locked)
    locked.set_password(password)
    locked.save(update_fields=["password"])
    sessions.end_all(locked)
    return api_tokens.revoke_all(person=locked, actor=actor)


def check_password(password: str, user: User) -> None:
    """Raise `AccountError` with every fault of a new password."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise AccountError(" ".join(error.messages), "password") from None


def lock_accounts() -> None:
    """Serialize changes of accounts until the end of the transaction."""
    locks.acquire(Lock.ACCOUNTS)


def check_role(role: str) -> None:
    """Raise `AccountError` unless the role exists."""
    if role not in ROLES:
        raise AccountError(f"Choose one of the roles {', '.join(ROLES)}.", "role")


def _check_username(user: User) -> None:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        field, reasons = next(iter(error.message_dict.items()))
        raise AccountError(" ".join(reasons), field) from None
    other = usernames.alike(user.username, User.objects.order_by("pk").values_list("username", flat=True))
    if other is None:
        return
    if other.lower() == user.username.lower():
        raise AccountError("This username is already taken.", "username")
    raise AccountError(f"This username looks the same as {other}, which is already taken.", "username")


def _check_not_last_admin(person: User) -> None:
    admins = User.objects.filter(_IS_ADMIN, is_active=True)
    if admins.filter(pk=person.pk).exists() and not admins.exclude(pk=person.pk).exists():
        raise AccountError(f"{person.name} is the only admin. Make somebody else an admin first.", "person")


def _set_role(person: User, role: str, actor: User | None) -> None:
    before = role_of(person)
    if before == role:
        return
    person.groups.set(Group.objects.filter(name=role))
    changes: dict[str, Any] = {"before": before, "after": role}
    if before == "admin":
        changes["links"] = _withdraw_links(person)
    events.record("role changed", actor=actor, username=person.username, **changes)


def _withdraw_links(person: User) -> int:
    """Withdraw the links for and by a person: a former admin must not regain access by one."""
    theirs = OneTimeLink.objects.filter(Q(person=person) | Q(created_by=person))
    return theirs.filter(used_at=None, withdrawn_at=None).update(withdrawn_at=timezone.now())
