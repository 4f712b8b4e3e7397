"""One-time links that an admin creates: invitations and password links.

The link alone grants access. Therefore its token is shown once, stored as a hash, and valid for one use.
"""

import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from reviews.accounts import people
from reviews.accounts.encryption import hash_token
from reviews.accounts.invitation_list import Invitee
from reviews.accounts.people import AccountError
from reviews.audit import events
from reviews.models import OneTimeLink, User

_INVALID = "This link was used or withdrawn, or has expired."


class NewLink(NamedTuple):
    link: OneTimeLink
    #: The secret part of the address. Not stored.
    token: str


def pending() -> QuerySet[OneTimeLink]:
    """Return the links that are still valid."""
    links = OneTimeLink.objects.filter(used_at=None, withdrawn_at=None, expires_at__gt=timezone.now())
    return links.select_related("created_by", "person").order_by("pk")


@transaction.atomic
def invite(*, role: str, email: str = "", name: str = "", actor: User) -> NewLink:
    """Create a link for a new person to join with a role. Raises `AccountError`."""
    people.check_role(role)
    if email:
        try:
            validate_email(email)
        except ValidationError as error:
            raise AccountError(" ".join(error.messages), "email") from None
    made = _create(
        purpose=OneTimeLink.Purpose.JOIN,
        role=role,
        name=name,
        email=email,
        created_by=actor,
        expires_at=timezone.now() + settings.INVITATION_LENGTH,
    )
    detail: dict[str, Any] = {"name": name} if name else {}
    events.record("invitation", actor=actor, link=made.link.pk, role=role, email=email, **detail)
    return made


@transaction.atomic
def invite_all(*, invitees: Iterable[Invitee], actor: User) -> list[NewLink]:
    """Create a link for each person of a list. Raises `AccountError`."""
    return [invite(**invitee._asdict(), actor=actor) for invitee in invitees]


@transaction.atomic
def renew(*, link: OneTimeLink, actor: User) -> NewLink:
    """Replace a pending link by a new one for the same person, because a stored link cannot be shown again.

    Raises `AccountError` if the link is no longer pending.
    """
    people.lock_accounts()
    if not pending().filter(pk=link.pk).exists():
        raise AccountError(_INVALID, "token")
    if link.person:
        return create_password_link(person=link.person, actor=actor)
    withdraw(link_id=link.pk, actor=actor)
    return invite(role=link.role, name=link.name, email=link.email, actor=actor)


@transaction.atomic
def create_password_link(*, person: User, actor: User) -> NewLink:
    """Create a link for a person to set a new password. It replaces a pending one.

    Raises `AccountError` for a deactivated account, and for an account of a login provider.
    """
    people.lock_accounts()
    if SocialAccount.objects.filter(user=person).exists():
        raise AccountError(
            f"{person.name} signs in with another provider, which manages the password.", "person"
        )
    if not User.objects.filter(pk=person.pk, is_active=True).exists():
        raise AccountError(f"{person.name} is deactivated. Reactivate the account first.", "person")
    pending().filter(person=person).update(withdrawn_at=timezone.now())
    made = _create(
        purpose=OneTimeLink.Purpose.PASSWORD,
        person=person,
        created_by=actor,
        expires_at=timezone.now() + settings.PASSWORD_LINK_LENGTH,
    )
    events.record("password link", actor=actor, link=made.link.pk, username=person.username)
    return made


@transaction.atomic
def withdraw(*, link_id: int, actor: User) -> None:
    """Withdraw a pending link. A link that is no longer valid stays as it is."""
    if pending().filter(pk=link_id).update(withdrawn_at=timezone.now()):
        events.record("link withdrawn", actor=actor, link=link_id)


def find_pending(token: str, purpose: str) -> OneTimeLink | None:
    return pending().filter(token_hash=hash_token(token), purpose=purpose).first()


@transaction.atomic
def accept_invitation(*, token: str, username: str, password: str) -> User:
    """Add an account by invitation. Of two concurrent requests, one succeeds. Raises `AccountError`."""
    people.lock_accounts()
    link = _get_pending(token, OneTimeLink.Purpose.JOIN)
    user = people.add_user(
        username=username,
        password=password,
        role=link.role,
        actor=None,
        columns={"email": link.email, "first_name": link.name},
        link=link.pk,
    )
    _mark_used(link, user)
    return user


@transaction.atomic
def set_password_by_link(*, token: str, password: str) -> User:
    """Set a password by link, and end the person's sessions and tokens. Raises `AccountError`."""
    people.lock_accounts()
    link = _get_pending(token, OneTimeLink.Purpose.PASSWORD)
    user = User.objects.get(one_time_links=link)
    revoked = people.set_password(person=user, password=password, actor=user)
    _mark_used(link, user)
    events.record("password set by link", actor=user, link=link.pk, tokens=revoked)
    return user


def _create(**columns: object) -> NewLink:
    token = secrets.token_urlsafe(32)
    return NewLink(OneTimeLink.objects.create(token_hash=hash_token(token), **columns), token)


def _get_pending(token: str, purpose: str) -> OneTimeLink:
    link = find_pending(token, purpose)
    if link is None:
        raise AccountError(_INVALID, "token")
    return link


def _mark_used(link: OneTimeLink, user: User) -> None:
    link.used_by, link.used_at = user, timezone.now()
    link.save(update_fields=["used_by", "used_at"])
