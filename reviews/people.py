"""Who has an account: adding people, and the one-time link by which the first admin comes in."""

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Q
from django.utils.crypto import constant_time_compare, salted_hmac

from reviews import audit
from reviews.models import AuditEvent, User
from reviews.permissions import ROLES

# People are added one at a time, each after the transaction before has ended: two at once could both find
# a name free that differs in case only, or both be the first admin. The number is any, but this one's alone.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7201734)"


class Refused(Exception):
    """The reason is a sentence for whoever asked, about a `field`: username, password, role or token."""

    def __init__(self, reason: str, field: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


@transaction.atomic
def add_user(*, username: str, password: str, role: str, actor: User | None) -> User:
    """Add an account with a role (a key of `ROLES`). `actor=None` is the command line. Raises `Refused`."""
    if role not in ROLES:
        raise Refused(f"The role is one of {', '.join(ROLES)}.", "role")
    _wait_for_others()
    user = User(username=User.normalize_username(username))
    _check_username(user)
    _check_password(password, user)
    user.set_password(password)
    user.save()
    user.groups.add(Group.objects.get(name=role))
    audit.record("user added", actor=actor, username=user.username, role=role)
    return user


@transaction.atomic
def first_admin(*, username: str, password: str, token: str) -> User:
    """Add the admin who followed the welcome link; of two who do so at once, one. Raises `Refused`."""
    if not constant_time_compare(token, welcome_token()):
        raise Refused("This link is not the one that was printed at the first start.", "token")
    _wait_for_others()
    if not needs_first_admin():
        raise Refused("This link has been used: there is an admin already.", "token")
    return add_user(username=username, password=password, role="admin", actor=None)


def welcome_token() -> str:
    """The secret part of the welcome link, good until somebody has used it."""
    return salted_hmac("reviews.people.welcome", "first admin", algorithm="sha256").hexdigest()[:40]


def needs_first_admin() -> bool:
    """Whether there never was an admin: a link that was used stays used when that admin has gone."""
    if User.objects.filter(Q(groups__name="admin") | Q(is_superuser=True)).exists():
        return False
    return not AuditEvent.objects.filter(action="user added", detail__role="admin").exists()


def _wait_for_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)


def _check_username(user: User) -> None:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise Refused(" ".join(error.messages), "username") from None
    if User.objects.filter(username__iexact=user.username).exists():
        raise Refused("There is already somebody with that name.", "username")


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Refused(" ".join(error.messages), "password") from None
