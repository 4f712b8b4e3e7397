"""Headers that every answer has, whoever made it: a page, the API, a static file, a probe, an error."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# What the browser may do for a page of ours beyond the usual: ask for a passkey, and nothing else.
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
    # No page of another site can load an answer of ours as its image, script or frame.
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{name}={who}" for name, who in _FEATURES.items()),
}


class HeadersMiddleware:
    """Adds them. What nobody said may be kept, as static files say, is kept by no browser and no proxy."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in ALWAYS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response
