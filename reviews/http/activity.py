"""Extend a session on activity of the person, but not on requests that open pages send by themselves."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from reviews.accounts.session_store import SessionStore

# URL names of requests that scripts send while a record is open.
_BEACONS = {"renew", "session"}
# Elements that poll, by their id in `HX-Trigger`.
_POLLING = {"screen", "import-state", "export-state"}


class ActivityMiddleware:
    """Extend the session after each active request. Comes after the session middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session = request.session
        if isinstance(session, SessionStore) and session.accessed and session.is_activity:
            session.extend()
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        if _is_automatic(request) and isinstance(request.session, SessionStore):
            request.session.is_activity = False


def _is_automatic(request: HttpRequest) -> bool:
    match = request.resolver_match
    is_beacon = match is not None and match.url_name in _BEACONS
    return is_beacon or request.headers.get("HX-Trigger") in _POLLING
