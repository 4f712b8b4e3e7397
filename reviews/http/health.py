"""Health probes: `/healthz` for the process, `/readyz` for the database and its migrations.

The middleware comes before those that check Host or session: probes have no login and use any host name.
"""

from collections.abc import Callable

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed

from cognireview.operations import outage
from cognireview.postgres.migrations import missing_column, missing_migrations
from cognireview.processes import graceful_shutdown

_AWAY = "The database cannot be reached."


class HealthMiddleware:
    """Answer the two probes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info not in {"/healthz", "/readyz"}:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        reason = not_ready_reason() if request.path_info == "/readyz" else ""
        return HttpResponse(
            reason or "ok",
            status=503 if reason else 200,
            content_type="text/plain; charset=utf-8",
        )


def not_ready_reason() -> str:
    """Return why the site cannot serve people, or an empty string. The text names no host and no user.

    Migrations of a newer version are ignored, so that this version keeps serving during an update.
    """
    if graceful_shutdown.has_started():
        return "This process is about to stop."
    if outage.is_active():
        return _AWAY
    try:
        missing = missing_migrations()
        lacking = "" if missing else missing_column()
    except DatabaseError as error:
        if outage.is_outage(error):
            outage.start_watch()
        return _AWAY
    if lacking:
        return f"The database does not fit this version: it lacks {lacking}."
    return f"{len(missing)} migrations are not applied." if missing else ""
