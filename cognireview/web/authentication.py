"""Authenticate people whose permissions come from their role only."""

from functools import cache
from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import Permission
from django.db.models import QuerySet

from reviews.accounts import permissions
from reviews.models import User


class RoleBackend(AuthenticationBackend):
    """Allauth's backend without permissions of single users, which nobody has.

    Looking for them would cost a query per request. The permissions of the role are loaded with the person,
    which saves another one.
    """

    def get_user(self, user_id: Any) -> User | None:
        user = _people().filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None

    def get_group_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        loaded = permissions.loaded_permissions(user_obj)
        if loaded is None or obj is not None:
            return super().get_group_permissions(user_obj, obj)
        return loaded

    def _get_user_permissions(self, user_obj: Any) -> QuerySet[Permission]:
        return Permission.objects.none()


@cache
def _people() -> QuerySet[User]:
    """Return the query for people, which takes longer to build than to send."""
    return permissions.with_permissions(User.objects)
