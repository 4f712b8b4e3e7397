"""Authenticate people whose permissions come from their role only."""

from functools import cache
from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import Permission
from django.db.models import QuerySet

from reviews.accounts import permissions
from reviews.models import User

# It stands for the key in the compiled statement.
_KEY = -1


class RoleBackend(AuthenticationBackend):
    """Allauth's backend without permissions of single users, which nobody has.

    Looking for them would cost a query per request. The permissions of the role are loaded with the person,
    which saves another one.
    """

    def get_user(self, user_id: Any) -> User | None:
        statement, values = _statement()
        keyed = [user_id if one == _KEY else one for one in values]
        user = next(iter(User.objects.raw(statement, keyed)), None)
        return user if user and self.user_can_authenticate(user) else None

    def get_group_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        loaded = permissions.loaded_permissions(user_obj)
        if loaded is None or obj is not None:
            return super().get_group_permissions(user_obj, obj)
        return loaded

    def _get_user_permissions(self, user_obj: Any) -> QuerySet[Permission]:
        return Permission.objects.none()


@cache
def _statement() -> tuple[str, list[Any]]:
    """Return the statement that loads a person, and its parameters.

    Every request sends it, and compiling it takes longer than all other work on it.
    """
    people = permissions.with_permissions(User.objects).filter(pk=_KEY)
    statement, values = people.query.sql_with_params()
    return statement, list(values)
