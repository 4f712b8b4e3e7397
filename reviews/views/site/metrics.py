"""Prometheus metrics at `/metrics`: figures from the database, and counters of the web processes.

The processes of a web server share their counters in files. Each web server is a target of its own. The
middlewares stay in this module with the counters that they increment. It is imported if there is a token.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_save
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from cognireview.processes.web_server import METRICS_DIR_VARIABLE
from reviews.metrics import DatabaseCollector
from reviews.models import AuditEvent, Review

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_counted = CollectorRegistry()
_requests = Counter(
    "cognireview_http_requests",
    "Requests by route (none: no page, or database unavailable), method and status.",
    ["route", "method", "status"],
    registry=_counted,
)
_seconds = Histogram(
    "cognireview_http_request_seconds",
    "Time until a response began.",
    ["route", "method"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=_counted,
)
_conflicts = Counter(
    "cognireview_conflicts",
    "Claims and decisions with a conflict (409), by route.",
    ["route"],
    registry=_counted,
)
_events = Counter(
    "cognireview_events",
    "Audit events recorded by web processes, by action: claim, submit, skip, release and so on.",
    ["action"],
    registry=_counted,
)
_review_seconds = Histogram(
    "cognireview_review_seconds",
    "Active time of each decision.",
    buckets=(5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    registry=_counted,
)


class CountingMiddleware:
    """Count requests with their duration, and the actions of people."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        post_save.connect(_count_event, sender=AuditEvent, dispatch_uid="metrics")
        post_save.connect(_count_review, sender=Review, dispatch_uid="metrics")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        begin = time.monotonic()
        response = self.get_response(request)
        # Not the path or an unknown method: each value would become a permanent series.
        route = f"/{request.resolver_match.route}" if request.resolver_match else "none"
        method = request.method if request.method in _METHODS else "other"
        _requests.labels(route, method, response.status_code).inc()
        _seconds.labels(route, method).observe(time.monotonic() - begin)
        if response.status_code == 409:
            _conflicts.labels(route).inc()
        return response


def _count_event(instance: AuditEvent, **_: Any) -> None:
    transaction.on_commit(partial(_events.labels(instance.action).inc))


def _count_review(instance: Review, **_: Any) -> None:
    if instance.active_ms is not None:
        transaction.on_commit(partial(_review_seconds.observe, instance.active_ms / 1000))


class MetricsMiddleware:
    """Answer `/metrics` for requests with the token. Comes first: it needs no login and accepts any Host."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info != "/metrics":
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        given = request.headers.get("Authorization", "")
        if not constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}"):
            refusal = "Send the token: Authorization: Bearer ..."
            return HttpResponse(refusal, status=401, headers={"WWW-Authenticate": "Bearer"})
        return HttpResponse(_render_metrics(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _render_metrics() -> bytes:
    database = CollectorRegistry()
    database.register(DatabaseCollector())
    counted = _counted
    if METRICS_DIR_VARIABLE in os.environ:
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    return generate_latest(counted) + generate_latest(database)
