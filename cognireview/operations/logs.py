"""Log one line per request. JSON lines name the request and the user."""

import datetime as dt
import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from cognireview.operations.redacted_errors import format_traceback

HEADER = "X-Request-ID"
# Ids that a proxy may set: a single word, so that they cannot imitate a log line.
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_LINE_ENDS = {ord(end): ascii(end)[1:-1] for end in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
log = logging.getLogger(__name__)


@dataclass
class _Request:
    id: str
    user_id: int | None = None


_current: ContextVar[_Request | None] = ContextVar("request", default=None)


class RequestMiddleware:
    """Assign each request an id, from its `X-Request-ID` if valid, and log its result.

    The line contains the route instead of the path, because a path may be a one-time link.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get(HEADER, "")
        current = _Request(given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex)
        before = _current.set(current)
        begin = time.monotonic()
        try:
            response = self.get_response(request)
            response.headers[HEADER] = current.id
            _log_end(request, response.status_code, time.monotonic() - begin)
            return response
        finally:
            _current.reset(before)

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> None:
        # As in LoginRequiredMiddleware: a public page must not read the session for this.
        if getattr(view_func, "login_required", True):
            set_user(request.user.pk)


def set_user(user_id: int | None) -> None:
    if current := _current.get():
        current.user_id = user_id


def _log_end(request: HttpRequest, status: int, seconds: float) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    ended = {"method": request.method, "route": route, "status": status, "ms": round(seconds * 1000)}
    log.info("%(method)s /%(route)s %(status)s in %(ms)s ms", ended, extra={"request_ended": ended})


def is_not_outage_response(record: logging.LogRecord) -> bool:
    """Filter out Django's line about each 503 response. The outage itself is logged once."""
    return bool(record.exc_info) or getattr(record, "status_code", 0) != HTTPStatus.SERVICE_UNAVAILABLE


def drop_refusal_traceback(record: logging.LogRecord) -> bool:
    """Remove, as a filter, the traceback of a request that Django refused. It is not a bug."""
    if record.name.startswith("django.security."):
        record.exc_info = record.exc_text = None
    return True


class _Formatter(logging.Formatter):
    """Formatter that keeps record contents out of tracebacks."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 (logging's name)
        return format_traceback(ei[1]) if ei[1] else ""


class TextFormatter(_Formatter):
    """Formatter that escapes line ends in messages, so each event has one line, apart from tracebacks."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return super().formatMessage(record).translate(_LINE_ENDS)


class JsonFormatter(_Formatter):
    """Formatter with one JSON object per line. Keys without a value are omitted."""

    def format(self, record: logging.LogRecord) -> str:
        current = _current.get()
        line = {
            "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            "request_id": current.id if current else None,
            "user_id": current.user_id if current else None,
            **getattr(record, "request_ended", {}),
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({key: value for key, value in line.items() if value is not None})
