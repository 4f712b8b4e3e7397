"""The network address of the client whose request is being handled, for the audit events of the request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_address: ContextVar[str | None] = ContextVar("client_address", default=None)


@contextmanager
def request_from(address: str | None) -> Iterator[None]:
    """Set the address of the events that are recorded in this block."""
    before = _address.set(address)
    try:
        yield
    finally:
        _address.reset(before)


def client_address() -> str | None:
    """Return the address of the client; None outside a request."""
    return _address.get()
