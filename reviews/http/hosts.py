"""Reject requests for unknown hosts, with the security headers of every response."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.security import SecurityMiddleware

from reviews.http.errors import standalone_error_page

_MAX_LOGGED_LENGTH = 200
log = logging.getLogger(__name__)


class HostMiddleware:
    """Reject unknown hosts. Comes before `SecurityMiddleware`, whose redirect to https fails for them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._security = SecurityMiddleware(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Health probes use any host and scheme.
        if any(pattern.search(request.path.lstrip("/")) for pattern in self._security.redirect_exempt):
            return self.get_response(request)
        try:
            request.get_host()
        except DisallowedHost:
            return self._security.process_response(request, _refuse(request))
        return self.get_response(request)


def _refuse(request: HttpRequest) -> HttpResponse:
    host = request.META.get("HTTP_HOST", request.META.get("SERVER_NAME", ""))
    log.warning("400 for a request to the unknown host %.*a.", _MAX_LOGGED_LENGTH, host)
    sentence = f"This site is at {settings.PUBLIC_URL}. Check the address and try again."
    return standalone_error_page(400, "Unknown host", sentence)
