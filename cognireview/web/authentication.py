"""Authenticate people whose permissions come from their role only."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import Permission
from django.db.models import QuerySet


class RoleBackend(AuthenticationBackend):
    """Allauth's backend without permissions of single users, which nobody has.

    Looking for them would cost a query per request.
    """

    def _get_user_permissions(self, user_obj: Any) -> QuerySet[Permission]:
        return Permission.objects.none()
