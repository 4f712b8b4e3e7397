"""One-time links that an admin hands out: invitations, and links to choose a new password.

Whoever has such a link needs nothing else, so its token is shown once, kept as a hash, and works once.
"""

import hashlib
import secrets
from typing import NamedTuple

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from reviews.accounts import people
from reviews.accounts.people import AccountError
from reviews.accounts.permissions import ROLES
from reviews.audit import events
from reviews.models import OneTimeLink, User

_OVER = "This link has been used, has expired or was withdrawn."


class NewLink(NamedTuple):
    """A new link and its token, which is nowhere else."""

    link: OneTimeLink
    token: str


def pending() -> QuerySet[OneTimeLink]:
    """The links that work."""
    links = OneTimeLink.objects.filter(used_at=None, withdrawn_at=None, expires_at__gt=timezone.now())
    return links.select_related("created_by", "person").order_by("pk")


@transaction.atomic
def invite(*, role: str, email: str = "", actor: User) -> NewLink:
    """Make a link by which somebody joins with a role. Raises `Refused`."""
    if role not in ROLES:
        raise AccountError(f"The role is one of {', '.join(ROLES)}.", "role")
    if email:
        _check_email(email)
    made = _create(
        purpose=OneTimeLink.Purpose.JOIN,
        role=role,
        email=email,
        created_by=actor,
        expires_at=timezone.now() + settings.INVITATION_LENGTH,
    )
    events.record("invitation", actor=actor, link=made.link.pk, role=role, email=email)
    return made


@transaction.atomic
def create_password_link(*, person: User, actor: User) -> NewLink:
    """Make a link by which somebody chooses a new password. It takes the place of one that waits.

    Raises `Refused` for an account that is shut, or that a provider answers for.
    """
    people.lock_accounts()
    if SocialAccount.objects.filter(user=person).exists():
        raise AccountError(
            f"{person.name} logs in with another provider, which keeps the password.", "person"
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
    """End a link before it is used. One that is over is left alone."""
    if pending().filter(pk=link_id).update(withdrawn_at=timezone.now()):
        events.record("link withdrawn", actor=actor, link=link_id)


def find_pending(token: str, purpose: str) -> OneTimeLink | None:
    """The link of a token, if it works."""
    return pending().filter(token_hash=_hash(token), purpose=purpose).first()


@transaction.atomic
def accept_invitation(*, token: str, username: str, password: str) -> User:
    """Add whoever followed an invitation; of two who do so at once, one. Raises `Refused`."""
    people.lock_accounts()
    link = _get_pending(token, OneTimeLink.Purpose.JOIN)
    user = people.add_user(
        username=username,
        password=password,
        role=link.role,
        actor=None,
        columns={"email": link.email},
        link=link.pk,
    )
    _mark_used(link, user)
    return user


@transaction.atomic
def set_password_by_link(*, token: str, password: str) -> User:
    """Set the password chosen by link, and end the person's sessions and tokens. Raises `Refused`."""
    people.lock_accounts()
    link = _get_pending(token, OneTimeLink.Purpose.PASSWORD)
    user = User.objects.get(one_time_links=link)
    revoked = people.set_password(person=user, password=password, actor=user)
    _mark_used(link, user)
    events.record("password set by link", actor=user, link=link.pk, tokens=revoked)
    return user


def _create(**columns: object) -> NewLink:
    token = secrets.token_urlsafe(32)
    return NewLink(OneTimeLink.objects.create(token_hash=_hash(token), **columns), token)


def _get_pending(token: str, purpose: str) -> OneTimeLink:
    link = find_pending(token, purpose)
    if link is None:
        raise AccountError(_OVER, "token")
    return link


def _mark_used(link: OneTimeLink, user: User) -> None:
    link.used_by, link.used_at = user, timezone.now()
    link.save(update_fields=["used_by", "used_at"])


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check_email(email: str) -> None:
    try:
        validate_email(email)
    except ValidationError as error:
        raise AccountError(" ".join(error.messages), "email") from None
