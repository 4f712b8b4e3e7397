"""Sessions in the database that end after a time without activity, and after a longest time in any case.

The database row says when a session ends, so the query that loads it enforces both limits for every request.
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

# When the login was, in seconds since 1970.
_BEGAN = "began"
_EXTENDED_EVERY = timedelta(minutes=1)


class SessionStore(db.SessionStore):
    """Django's store, with both limits."""

    #: When the session ends, as far as this request knows.
    ends_at: datetime | None = None
    #: Whether the present request shows that the person is there. An open page sends others by itself.
    is_activity = True

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        row = self._get_session_from_db()  # type: ignore[attr-defined]  # not in the stubs
        data: dict[str, Any] = self.decode(row.session_data) if row else {}
        # The setting may have become less since the row was written.
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
        """Change the key, as at a login; the list of where a person is logged in follows."""
        before = self.session_key
        super().cycle_key()
        if before:
            UserSession.objects.filter(session_key=before).update(session_key=self.session_key)

    def extend(self) -> None:
        """Restart the time without activity. Writes once a minute at most."""
        data = dict(self.items())
        if self.ends_at is None or SESSION_KEY not in data:
            return
        end = self._next_end(data)
        if abs(end - self.ends_at) < _EXTENDED_EVERY:
            return
        # Not by `save`: the data of the session may have been changed by another request meanwhile.
        Session.objects.filter(session_key=self.session_key).update(expire_date=end)
        self.ends_at = end

    def _next_end(self, data: dict[str, Any]) -> datetime:
        if self.ends_at and not self.is_activity:
            return self.ends_at
        now = timezone.now()
        unknown = self.ends_at or now + settings.SESSION_MAX_LENGTH
        return min(now + settings.SESSION_IDLE_LENGTH, self._last_moment(data, unknown))

    def _last_moment(self, data: dict[str, Any], unknown: datetime) -> datetime:
        """Return when the longest time is over; `unknown` where the data does not hold when the login was."""
        if _BEGAN not in data:
            return unknown
        return datetime.fromtimestamp(data[_BEGAN], UTC) + settings.SESSION_MAX_LENGTH
