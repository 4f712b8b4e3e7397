"""Set security headers on every response: pages, API, static files, probes and errors."""

from collections.abc import Callable

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Our pages may use passkeys, and no other browser feature.
_FEATURES = {
    **dict.fromkeys(
        (
            "accelerometer",
            "autoplay",
            "camera",
            "display-capture",
            "geolocation",
            "gyroscope",
            "magnetometer",
            "microphone",
            "midi",
            "payment",
            "usb",
        ),
        "()",
    ),
    "publickey-credentials-create": "(self)",
    "publickey-credentials-get": "(self)",
}
ALWAYS = {
    # Other sites cannot embed our responses as images, scripts or frames.
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{name}={who}" for name, who in _FEATURES.items()),
}


class HeadersMiddleware:
    """Add the headers. Responses without a caching policy are not stored by browsers and proxies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in ALWAYS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class PolicyMiddleware(CSPMiddleware):
    """Send the content security policy, which is built once. A few pages have one of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._usual = build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # The decorators of django-csp note in the response what differs. Django's pages in debug mode have
        # inline styles.
        if settings.DEBUG or any(name.startswith("_csp") for name in vars(response)):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._usual)
        return response
