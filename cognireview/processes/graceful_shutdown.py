"""What a web process does between the signal to stop and its end.

It answers whatever still comes, so that nothing fails while others find out: `/readyz` says 503, and each
answer closes its connection, so that the next request goes to another process.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

_Start = Callable[..., Any]
_Application = Callable[[dict[str, Any], _Start], Iterable[bytes]]


class Flag(Protocol):
    """A number that the processes of a web server share."""

    value: int


class _Never:
    value = 0


_flag: Flag = _Never()


def set_flag(flag: Flag) -> None:
    """Take the flag that the web server sets."""
    global _flag  # noqa: PLW0603 one for the process
    _flag = flag


def has_started() -> bool:
    return bool(_flag.value)


def close_connections(application: _Application) -> _Application:
    """The application, with connections closed behind its answers once stopping has begun.

    That header is none of an application's, by PEP 3333; granian, which runs this one, acts on it.
    """

    def close(environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if has_started():
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, *rest)

        return application(environ, start)

    return close
