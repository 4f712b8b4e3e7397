"""Middlewares that check the host and the body of requests, and pass on the address of the client."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost, ImproperlyConfigured, PermissionDenied
from django.core.handlers.wsgi import LimitedStream
from django.http import HttpRequest, HttpResponse, HttpResponseBase, UnreadablePostError
from django.middleware.security import SecurityMiddleware

from reviews.audit.events import request_from
from reviews.http.errors import bad_request, standalone_error_page

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


class _CompleteStream(LimitedStream):
    """A body of `length` bytes. Raises `OSError` if it ends earlier."""

    def __init__(self, stream: Any, length: int) -> None:
        super().__init__(stream, length)
        self._left = length

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        data: bytes = super().read(wanted)
        if len(data) < wanted:
            raise OSError("The request body is incomplete.")
        self._left -= wanted
        return data


class CompleteBodyMiddleware:
    """Refuse forms that end early (400), and bodies of unknown length (411), which Django takes for empty.

    When a connection breaks off, the web server ends the body there. Without this check, the first part of a
    form would be saved as if it were the whole form, with half of a comment.

    Views that read a body themselves get `UnreadablePostError` where it ends.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or ""
        if not length and "Transfer-Encoding" in request.headers:
            sentence = "Send the size of the body as Content-Length. Nothing was changed."
            return standalone_error_page(411, "Length required", sentence)
        if length.isascii() and length.isdecimal():
            vars(request)["_stream"] = _CompleteStream(request.META["wsgi.input"], int(length))
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> HttpResponse | None:
        """Read a form before the check of its CSRF token does, which ignores that the form is incomplete."""
        if getattr(view, "csrf_exempt", False):
            return None
        try:
            request.POST  # noqa: B018 the first access reads the form
        except UnreadablePostError:
            return bad_request(request, BadRequest())
        return None


# Without a request, it has no state.
_adapter = cache(get_adapter)


class ClientAddressMiddleware:
    """Note the client's address, as allauth determines it for its limits of logins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with request_from(_address_of(request)):
            return self.get_response(request)


def _address_of(request: HttpRequest) -> str | None:
    """Return the client's address; None without a valid one, as on a Unix socket."""
    try:
        address: str = _adapter().get_client_ip(request)
    except (PermissionDenied, ImproperlyConfigured):
        return None
    # The database has no zones: fe80::1%eth0 becomes fe80::1.
    return address.partition("%")[0]
