"""Who has an account and which role: adding people, changing that, and ending it.

Links by which people come in themselves are in `links`, sessions in `sessions`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from reviews.accounts import api_tokens, sessions
from reviews.accounts.permissions import ROLES, role_of
from reviews.audit import events
from reviews.models import AuditEvent, Evaluation, OneTimeLink, User, usernames

# Accounts are added and changed one at a time, each after the transaction before has ended: two at once could
# both find a name free that differs in case only, both be the first admin, or each demote the other of two
# admins. The number is any, but this one's alone.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7201734)"
_IS_ADMIN = Q(groups__name="admin") | Q(is_superuser=True)


class AccountError(Exception):
    """The reason is a sentence for whoever asked.

    `field` is what it is about: username, password, role, email, person or token.
    """

    def __init__(self, reason: str, field: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


def all_people() -> QuerySet[User]:
    """All people by name, each with `has_second_factor` and `is_from_provider`, in two queries."""
    factors = Authenticator.objects.filter(user=OuterRef("pk"))
    accounts = SocialAccount.objects.filter(user=OuterRef("pk"))
    people = User.objects.annotate(has_second_factor=Exists(factors), is_from_provider=Exists(accounts))
    return people.order_by("-is_active", "username").prefetch_related("groups")


@transaction.atomic
def add_user(
    *,
    username: str,
    password: str | None,
    role: str,
    actor: User | None,
    columns: Mapping[str, str] = MappingProxyType({}),
    **told: Any,
) -> User:
    """Add an account with a role (a key of `ROLES`). `actor=None` is the program itself.

    Without a password they come in by the provider only. `columns` are those of the name and the e-mail
    address; `told` goes into the audit event. Raises `Refused`.
    """
    _check_role(role)
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
    events.record("user added", actor=actor, username=user.username, role=role, **told)
    return user


@transaction.atomic
def create_first_admin(*, username: str, password: str, token: str) -> User:
    """Add the admin who followed the welcome link; of two who do so at once, one. Raises `Refused`."""
    if not constant_time_compare(token, welcome_token()):
        raise AccountError("This link is not the one that was printed at the first start.", "token")
    lock_accounts()
    if not needs_first_admin():
        raise AccountError("This link has been used: there is an admin already.", "token")
    return add_user(username=username, password=password, role="admin", actor=None)


def welcome_token() -> str:
    """The secret part of the welcome link, good until somebody has used it."""
    return salted_hmac("reviews.accounts.people.welcome", "first admin", algorithm="sha256").hexdigest()[:40]


def needs_first_admin() -> bool:
    """Whether there never was an admin: a link that was used stays used when that admin has gone."""
    if User.objects.filter(_IS_ADMIN).exists():
        return False
    return not AuditEvent.objects.filter(action="user added", detail__role="admin").exists()


@transaction.atomic
def change_role(*, person: User, role: str, actor: User) -> None:
    """Give somebody another role. Raises `Refused`, also where nobody would be left as admin."""
    _check_role(role)
    lock_accounts()
    if role != "admin":
        _check_not_last_admin(person)
    _set_role(person, role, actor)


@transaction.atomic
def set_role_from_provider(*, person: User, role: str) -> None:
    """Make somebody's role what the provider says; an empty one takes all access, at once.

    What the provider says holds for the last admin too.
    """
    lock_accounts()
    _set_role(person, role, None)
    if not role:
        sessions.end_all(person)
        api_tokens.revoke_all(person=person, actor=None)


@transaction.atomic
def reset_second_factor(*, person: User, actor: User) -> None:
    """Take app, passkeys and recovery codes off an account: the password alone opens it again."""
    removed = Authenticator.objects.filter(user=person)
    kinds = sorted(removed.values_list("type", flat=True))
    removed.delete()
    events.record("second factor reset", actor=actor, username=person.username, kinds=kinds)


@transaction.atomic
def deactivate(*, person: User, actor: User) -> None:
    """Shut an account: sessions and tokens end, what it holds and was assigned is free, decisions stay.

    Raises `Refused` where nobody would be left as admin.
    """
    lock_accounts()
    _check_not_last_admin(person)
    # A claim of theirs that is under way locks the same row: it has ended by now, or finds them inactive.
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    locked.is_active = False
    locked.save(update_fields=["is_active"])
    ended, revoked = sessions.end_all(person), api_tokens.revoke_all(person=person, actor=actor)
    held = Evaluation.objects.filter(claimed_by=person).update(claimed_by=None, claimed_until=None)
    assigned = Evaluation.objects.filter(assigned_to=person).update(assigned_to=None)
    withdrawn = _withdraw_links(person)
    counts: dict[str, Any] = {"claims": held, "assigned": assigned, "links": withdrawn, "tokens": revoked}
    events.record("person deactivated", actor=actor, username=person.username, sessions=ended, **counts)


@transaction.atomic
def reactivate(*, person: User, actor: User) -> None:
    """Open an account again, with the role it had."""
    # A login may have been under way when it was shut.
    sessions.end_all(person)
    api_tokens.revoke_all(person=person, actor=actor)
    User.objects.filter(pk=person.pk).update(is_active=True)
    events.record("person reactivated", actor=actor, username=person.username)


@transaction.atomic
def set_password(*, person: User, password: str, actor: User | None) -> int:
    """Set a password that the person did not prove to know before; returns how many tokens were revoked.

    The password before may be known to somebody else, so all sessions and tokens of the account end. The
    caller records the event. Raises `Refused`.
    """
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    check_password(password, locked)
    locked.set_password(password)
    locked.save(update_fields=["password"])
    sessions.end_all(locked)
    return api_tokens.revoke_all(person=locked, actor=actor)


def check_password(password: str, user: User) -> None:
    """Raise `Refused` with all that is wrong with a new password."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise AccountError(" ".join(error.messages), "password") from None


def lock_accounts() -> None:
    """Wait for other changes of accounts; those after this one wait for the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise AccountError(f"The role is one of {', '.join(ROLES)}.", "role")


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
        raise AccountError("There is already somebody with that name.", "username")
    raise AccountError(f"There is already somebody whose name looks the same: {other}.", "username")


def _check_not_last_admin(person: User) -> None:
    admins = User.objects.filter(_IS_ADMIN, is_active=True)
    if admins.filter(pk=person.pk).exists() and not admins.exclude(pk=person.pk).exists():
        raise AccountError(f"{person.name} is the only admin. Make somebody else one first.", "person")


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
    """End the links to and from somebody: who is no admin any more must not come back by one."""
    theirs = OneTimeLink.objects.filter(Q(person=person) | Q(created_by=person))
    return theirs.filter(used_at=None, withdrawn_at=None).update(withdrawn_at=timezone.now())
