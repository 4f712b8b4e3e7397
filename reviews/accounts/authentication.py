"""Authenticate people whose permissions come from their role only."""

from collections.abc import Callable
from typing import Any, cast

from allauth.account.auth_backends import AuthenticationBackend
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser, Permission
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from reviews.accounts import permissions
from reviews.accounts.session_store import SessionStore
from reviews.models import User


class RoleBackend(AuthenticationBackend):
    """Allauth's backend without permissions of single users, which nobody has.

    Looking for them would cost a query per request. The permissions of the role are loaded with the person,
    which saves another one.
    """

    def get_user(self, user_id: Any) -> User | None:
        user = permissions.with_permissions(User.objects).filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        loaded = permissions.loaded_permissions(user_obj)
        if loaded is None or obj is not None:
            return super().get_all_permissions(user_obj, obj)
        return {*loaded}

    def _get_user_permissions(self, user_obj: Any) -> QuerySet[Permission]:
        return Permission.objects.none()


class PersonMiddleware(AuthenticationMiddleware):
    """Django's middleware, with the person that the query for the session has loaded."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = cast("User", SimpleLazyObject(lambda: _signed_in(request)))

    def process_view(self, request: HttpRequest, view_func: Callable[..., Any], *_: Any) -> None:
        # Each use of a lazy object takes several calls, and a page has hundreds. Only public pages must not
        # read the session.
        lazy: Any = request.user
        if getattr(view_func, "login_required", True) and isinstance(lazy, SimpleLazyObject):
            request.user = lazy._wrapped if lazy.pk else AnonymousUser()  # noqa: SLF001


def _signed_in(request: HttpRequest) -> AbstractBaseUser | AnonymousUser:
    """Return the person of the session if it passes Django's checks. Otherwise Django decides."""
    session: SessionStore = request.session  # type: ignore[assignment]
    key, person = session.get(SESSION_KEY), session.person
    is_valid = (
        person is not None
        and person.is_active
        and key == str(person.pk)
        and session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
        and constant_time_compare(session.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash())
    )
    return person if person is not None and is_valid else get_user(request)
