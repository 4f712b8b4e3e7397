"""Database sessions with an idle limit and an absolute limit.

The row has the time at which the session ends, so the query that loads it enforces both limits. It also loads
the person who logged in, with their permissions.
"""

import time
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, cast

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from reviews.accounts import permissions
from reviews.database.compiled_queries import CompiledStatement
from reviews.database.statements import prepared_statements
from reviews.models import User

# Key of the login's time, in seconds since 1970.
_BEGAN = "began"
_EXTENDED_EVERY = timedelta(minutes=1)
# A session that no login has listed has no person here.
_LOAD = """
    SELECT person.*, session.session_data AS stored, session.expire_date AS ends_at
    FROM django_session session
    LEFT JOIN usersessions_usersession login ON login.session_key = session.session_key
    LEFT JOIN LATERAL ({people}) person ON true
    WHERE session.session_key = %s AND session.expire_date > %s
"""


@cache
def _loading_statement() -> tuple[CompiledStatement[User], list[Any]]:
    people, values = permissions.person_statement("login.user_id")
    return CompiledStatement(User, _LOAD.format(people=people)), values


class SessionStore(db.SessionStore):
    """Django's session store with both limits."""

    #: When the session ends, as far as this request knows.
    ends_at: datetime | None = None
    #: The person of the session, if it was loaded. Nobody has checked yet whether the session is still valid.
    person: User | None = None
    #: Whether this request was made by the person. Open pages send requests by themselves.
    is_activity = True

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        row = self._load_row()
        if row is None:
            self._session_key = None
            return {}
        stored, ends_at = vars(row)["stored"], vars(row)["ends_at"]
        data: dict[str, Any] = self.decode(stored)
        # The limit may have been reduced since the row was written.
        if self._last_moment(data, ends_at) <= timezone.now():
            self._session_key = None
            return {}
        self.ends_at = ends_at
        self.person = row if row.pk else None
        return data

    @prepared_statements()
    def _load_row(self) -> User | None:
        """Return the person of a session that has not ended, without attributes if nobody is known."""
        statement, values = _loading_statement()
        return next(iter(statement.rows([*values, self.session_key, timezone.now()])), None)

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        if SESSION_KEY in data:
            data.setdefault(_BEGAN, time.time())
        row = cast("Session", super().create_model_instance(data))
        row.expire_date = self.ends_at = self._next_end(data)
        return row

    def cycle_key(self) -> None:
        """Change the key, as at a login, also in the list of active sessions."""
        before = self.session_key
        super().cycle_key()
        if before:
            UserSession.objects.filter(session_key=before).update(session_key=self.session_key)

    def extend(self) -> None:
        """Restart the idle limit. Write at most once a minute."""
        data = dict(self.items())
        if self.ends_at is None or SESSION_KEY not in data:
            return
        end = self._next_end(data)
        if abs(end - self.ends_at) < _EXTENDED_EVERY:
            return
        # `save` would overwrite changes that a concurrent request made to the session's data.
        Session.objects.filter(session_key=self.session_key).update(expire_date=end)
        self.ends_at = end

    def _next_end(self, data: dict[str, Any]) -> datetime:
        if self.ends_at and not self.is_activity:
            return self.ends_at
        now = timezone.now()
        unknown = self.ends_at or now + settings.SESSION_MAX_LENGTH
        return min(now + settings.SESSION_IDLE_LENGTH, self._last_moment(data, unknown))

    def _last_moment(self, data: dict[str, Any], unknown: datetime) -> datetime:
        """Return the end of the absolute limit, or `unknown` if the data has no time of the login."""
        if _BEGAN not in data:
            return unknown
        return datetime.fromtimestamp(data[_BEGAN], UTC) + settings.SESSION_MAX_LENGTH
