"""Where a person is logged in, and ending that.

allauth keeps a row for each login; the session itself is Django's, and without it the cookie opens nothing.
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

# What browsers call themselves; most add the names of those after them, so the first that occurs counts.
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
    """One browser somebody is logged in with, in words."""

    pk: int
    browser: str
    address: str
    since: dt.datetime
    is_this: bool


def active_sessions(user: User, current_key: str | None) -> list[ActiveSession]:
    """Where a person is logged in, the latest login first."""
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
    browser = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "Some browser")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "some system")
    return f"{browser} on {system}"


def _open_sessions(user: User) -> list[UserSession]:
    known = UserSession.objects.filter(user=user).order_by("-created_at")
    keys = [session.session_key for session in known]
    is_open = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    open_keys = set(is_open.values_list("session_key", flat=True))
    return [session for session in known if session.session_key in open_keys]


@transaction.atomic
def end(user: User, session_id: int) -> None:
    """End one session of a person. Raises `UserSession.DoesNotExist`, also for those of others."""
    session = UserSession.objects.select_for_update().get(user=user, pk=session_id)
    _end(UserSession.objects.filter(pk=session.pk))
    events.record("session ended", actor=user, address=session.ip)


@transaction.atomic
def end_others(user: User, current_key: str | None) -> int:
    """End all sessions of a person but the one they ask from; returns how many."""
    ended = _end(UserSession.objects.filter(user=user).exclude(session_key=current_key))
    events.record("other sessions ended", actor=user, sessions=ended)
    return ended


def end_all(user: User) -> int:
    """End all sessions of a person; returns how many. The caller tells of it in the audit."""
    return _end(UserSession.objects.filter(user=user))


@transaction.atomic
def record_logout(user: User, current_key: str | None) -> None:
    """Take the session that a person is about to end off the list."""
    UserSession.objects.filter(session_key=current_key).delete()
    events.record("logout", actor=user)


@transaction.atomic
def keep_only_current(user: User, request: HttpRequest) -> None:
    """List the session of a request alone, by its new key: a new password has ended the others."""
    ended = _end(UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key))
    UserSession.objects.create_from_request(request)
    events.record("other sessions ended", actor=user, sessions=ended)


def _end(ending: QuerySet[UserSession]) -> int:
    keys = list(ending.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    ending.delete()
    return len(keys)
