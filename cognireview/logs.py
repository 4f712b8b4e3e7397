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

HEADER = "X-Request-ID"
# What a proxy may call a request: nothing that could pass for more than a word in a log.
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
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
        if getattr(view_func, "login_required", True) and (current := _current.get()):
            current.user_id = request.user.pk


def _log_end(request: HttpRequest, status: int, seconds: float) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    ended = {"method": request.method, "route": route, "status": status, "ms": round(seconds * 1000)}
    log.info("%(method)s /%(route)s %(status)s in %(ms)s ms", ended, extra={"request_ended": ended})


def is_news(record: logging.LogRecord) -> bool:
    """Leaves out, as a filter, what Django says of each answer of 503: why it was stands in the log once."""
    return bool(record.exc_info) or getattr(record, "status_code", 0) != HTTPStatus.SERVICE_UNAVAILABLE


class JsonFormatter(logging.Formatter):
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
