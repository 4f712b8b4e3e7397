"""What the log says of requests: a line for each, and in every line as JSON which request and whose."""

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
# What a proxy may call a request: nothing that could pass for more than a word in a log.
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_LINE_ENDS = {ord(end): ascii(end)[1:-1] for end in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
log = logging.getLogger(__name__)


@dataclass
class _Request:
    id: str
    user_id: int | None = None


_current: ContextVar[_Request | None] = ContextVar("request", default=None)


class RequestMiddleware:
    """Gives each request an id, that of its `X-Request-ID` if it has one, and logs how it ended.

    The line has the route, not the path, which may be a one-time link.
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
        # As LoginRequiredMiddleware asks: a page for everybody must not look at the session for this.
        if getattr(view_func, "login_required", True):
            set_user(request.user.pk)


def set_user(user_id: int | None) -> None:
    """Say whose the request is that is being answered; without one, nothing."""
    if current := _current.get():
        current.user_id = user_id


def _log_end(request: HttpRequest, status: int, seconds: float) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    ended = {"method": request.method, "route": route, "status": status, "ms": round(seconds * 1000)}
    log.info("%(method)s /%(route)s %(status)s in %(ms)s ms", ended, extra={"request_ended": ended})


def is_not_outage_response(record: logging.LogRecord) -> bool:
    """Leaves out, as a filter, what Django says of each answer of 503: why it was stands in the log once."""
    return bool(record.exc_info) or getattr(record, "status_code", 0) != HTTPStatus.SERVICE_UNAVAILABLE


def drop_refusal_traceback(record: logging.LogRecord) -> bool:
    """Take, as a filter, the traceback off a request that Django refused: no program was wrong."""
    if record.name.startswith("django.security."):
        record.exc_info = record.exc_text = None
    return True


class _Formatter(logging.Formatter):
    """Keeps contents of records out of tracebacks."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 (logging's name)
        return format_traceback(ei[1]) if ei[1] else ""


class TextFormatter(_Formatter):
    """One line for each event, whatever was sent: line ends in a message are spelled out.

    A traceback has lines of its own behind it.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return super().formatMessage(record).translate(_LINE_ENDS)


class JsonFormatter(_Formatter):
    """One JSON object a line. Keys without a value are left out."""

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
