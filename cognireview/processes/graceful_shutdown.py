"""Drain a web process before it stops, and announce that a connection ends.

The process still answers requests, so none fails while the proxy notices: `/readyz` says 503, and each
response closes its connection, so the next request goes to another process.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

_Start = Callable[..., Any]
_Application = Callable[[dict[str, Any], _Start], Iterable[bytes]]


class Flag(Protocol):
    """A number shared by the processes of a web server."""

    value: int


class _Never:
    value = 0


_flag: Flag = _Never()


def set_flag(flag: Flag) -> None:
    """Use the flag that the web server sets at shutdown."""
    global _flag  # noqa: PLW0603 one per process
    _flag = flag


def has_started() -> bool:
    return bool(_flag.value)


class _Body:
    """The body of a request, which counts the bytes that were not read."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream = stream
        self.unread = size

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self.unread -= len(data)
        return data

    def readline(self, size: int = -1) -> bytes:
        data: bytes = self._stream.readline(size)
        self.unread -= len(data)
        return data


def close_connections(application: _Application) -> _Application:
    """Wrap a WSGI application so that a response has `Connection: close` if its connection is about to end.

    That is so during shutdown, and after a request whose body was not read, such as a refused file. Without
    the header, the next request of the client would fail. PEP 3333 does not allow applications to set it, but
    granian, our server, honours it.
    """

    def close(environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        size = environ.get("CONTENT_LENGTH") or "0"
        body = _Body(environ["wsgi.input"], int(size) if size.isascii() and size.isdecimal() else 0)
        environ["wsgi.input"] = body

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if has_started() or body.unread > 0 or "HTTP_TRANSFER_ENCODING" in environ:
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, *rest)

        return application(environ, start)

    return close
