"""List and end the active sessions of a person.

allauth stores a row for each login. Deleting the Django session makes the cookie invalid.
"""

import datetime as dt
from typing import NamedTuple

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from reviews.audit import events
from reviews.models import User

# Most browsers also name the ones listed after them in their User-Agent, so the first match counts.
_BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
_SYSTEMS = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iOS",
    "iPad": "iOS",
    "Mac": "macOS",
    "Linux": "Linux",
}


class ActiveSession(NamedTuple):
    """A browser in which a person is signed in."""

    pk: int
    #: Browser and system, such as "Firefox on Linux".
    browser: str
    #: The IP address of the login.
    address: str
    since: dt.datetime
    #: Whether this is the session of the current request.
    is_this: bool


def active_sessions(user: User, current_key: str | None) -> list[ActiveSession]:
    """Return the active sessions of a person, latest login first."""
    return [
        ActiveSession(
            pk=session.pk,
            browser=_browser(session.user_agent),
            address=session.ip,
            since=session.created_at,
            is_this=session.session_key == current_key,
        )
        for session in _open_sessions(user)
    ]


def _browser(user_agent: str) -> str:
    browser = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "Unknown browser")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "unknown system")
    return f"{browser} on {system}"


def _open_sessions(user: User) -> list[UserSession]:
    known = UserSession.objects.filter(user=user).order_by("-created_at")
    keys = [session.session_key for session in known]
    is_open = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    open_keys = set(is_open.values_list("session_key", flat=True))
    return [session for session in known if session.session_key in open_keys]


@transaction.atomic
def end(*, user: User, session_id: int) -> None:
    """End a session of a person. Raises `UserSession.DoesNotExist`, also for another person's session."""
    session = UserSession.objects.select_for_update().get(user=user, pk=session_id)
    _end(UserSession.objects.filter(pk=session.pk))
    events.record("session ended", actor=user, session_address=session.ip)


@transaction.atomic
def end_others(*, user: User, current_key: str | None) -> int:
    """End all sessions of a person except the current one. Return their number."""
    ended = _end(UserSession.objects.filter(user=user).exclude(session_key=current_key))
    events.record("other sessions ended", actor=user, sessions=ended)
    return ended


def end_all(user: User) -> int:
    """End all sessions of a person. Return their number. The caller records the audit event."""
    return _end(UserSession.objects.filter(user=user))


@transaction.atomic
def record_logout(*, user: User, current_key: str | None) -> None:
    """Record a logout, and remove the session that is about to end from the list."""
    UserSession.objects.filter(session_key=current_key).delete()
    events.record("logout", actor=user)


@transaction.atomic
def keep_only_current(user: User, request: HttpRequest) -> None:
    """Keep only the session of the request, under its new key, after a change of the password."""
    end_others(user=user, current_key=request.session.session_key)
    UserSession.objects.create_from_request(request)


def _end(ending: QuerySet[UserSession]) -> int:
    keys = list(ending.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    ending.delete()
    return len(keys)
