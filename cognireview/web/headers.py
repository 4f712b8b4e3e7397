"""Set security headers on every response: pages, API, static files, probes and errors."""

from collections.abc import Callable

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
