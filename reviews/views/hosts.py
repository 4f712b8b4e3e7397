"""Refuse requests for a host that is not this site's, with the headers that every answer has."""

import logging

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.middleware import security

from reviews.views.errors import bare_page

_LONGEST_SHOWN = 200
log = logging.getLogger(__name__)


class SecurityMiddleware(security.SecurityMiddleware):
    """Django's, which would redirect to https, and end in an error, before the host was looked at."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:  # type: ignore[override]
        # Probes come by any host and scheme.
        if any(pattern.search(request.path.lstrip("/")) for pattern in self.redirect_exempt):
            return None
        try:
            request.get_host()
        except DisallowedHost:
            return _refuse(request)
        return super().process_request(request)


def _refuse(request: HttpRequest) -> HttpResponse:
    host = request.META.get("HTTP_HOST", request.META.get("SERVER_NAME", ""))
    log.warning("400 for a request to the unknown host %.*a.", _LONGEST_SHOWN, host)
    sentence = f"This site is at {settings.PUBLIC_URL}. Check the address and try again."
    return bare_page(400, "There is no site at this address", sentence)
