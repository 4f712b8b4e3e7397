"""Refuse request bodies that did not arrive as a whole."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest
from django.core.handlers.wsgi import LimitedStream
from django.http import HttpRequest, HttpResponse, HttpResponseBase, UnreadablePostError

from reviews.http.errors import bad_request, standalone_error_page


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
