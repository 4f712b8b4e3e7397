"""Drain a web process before it stops.

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


def close_connections(application: _Application) -> _Application:
    """Wrap a WSGI application so that its responses close their connections during shutdown.

    PEP 3333 does not allow applications to set this header, but granian, our server, honours it.
    """

    def close(environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if has_started():
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, *rest)

        return application(environ, start)

    return close
