"""What an account may do comes from its role alone."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import Permission
from django.db.models import QuerySet


class RoleBackend(AuthenticationBackend):
    """Logs people in by name and password, and knows no permissions but those of groups.

    Nothing gives an account permissions of its own, and looking for them costs each request a query.
    """

    def _get_user_permissions(self, user_obj: Any) -> QuerySet[Permission]:
        return Permission.objects.none()
