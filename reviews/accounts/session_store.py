"""Database sessions with an idle limit and an absolute limit.

The row has the time at which the session ends, so the query that loads it enforces both limits.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

# Key of the login's time, in seconds since 1970.
_BEGAN = "began"
_EXTENDED_EVERY = timedelta(minutes=1)


class SessionStore(db.SessionStore):
    """Django's session store with both limits."""

    #: When the session ends, as far as this request knows.
    ends_at: datetime | None = None
    #: Whether this request was made by the person. Open pages send requests by themselves.
    is_activity = True

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        row = self._get_session_from_db()  # type: ignore[attr-defined]  # not in the stubs
        data: dict[str, Any] = self.decode(row.session_data) if row else {}
        # The limit may have been reduced since the row was written.
        if row and self._last_moment(data, row.expire_date) <= timezone.now():
            self._session_key = None
            return {}
        self.ends_at = row.expire_date if row else None
        return data

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
