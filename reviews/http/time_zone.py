"""The time zone of a reader, which their browser sends as a cookie."""

import datetime as dt
from zoneinfo import ZoneInfo

from django.http import HttpRequest

# Set by static/times.js.
COOKIE = "timezone"


def reader_zone(request: HttpRequest) -> dt.tzinfo:
    """Return the reader's time zone; UTC if it is unknown."""
    try:
        return ZoneInfo(request.COOKIES.get(COOKIE, "UTC"))
    except (ValueError, LookupError, OSError):
        return dt.UTC
