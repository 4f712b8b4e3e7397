"""The type of requests in views behind the login, and the time zone of their reader."""

import datetime as dt
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from reviews.models import User


class Request(HttpRequest):
    """A request by a logged-in person. Views marked `login_not_required` take a plain `HttpRequest`."""

    user: User
    htmx: HtmxDetails


# Set by static/times.js.
COOKIE = "timezone"


def reader_zone(request: HttpRequest) -> dt.tzinfo:
    """Return the reader's time zone; UTC if it is unknown."""
    try:
        return ZoneInfo(request.COOKIES.get(COOKIE, "UTC"))
    except (ValueError, LookupError, OSError):
        return dt.UTC
