"""Wait for the live server's requests, which may outlive the answer that a client has received."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.servers.basehttp import ServerHandler

from tests.support.waiting import PATIENCE

_running: set[ServerHandler] = set()
_changed = threading.Condition()


@contextmanager
def counted_requests() -> Iterator[None]:
    """Count the requests that the live servers of this process handle."""
    run = ServerHandler.run

    def count_and_run(handler: ServerHandler, application: Any) -> None:
        with _changed:
            _running.add(handler)
        try:
            run(handler, application)
        finally:
            with _changed:
                _running.remove(handler)
                _changed.notify_all()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerHandler, "run", count_and_run)
        yield


def wait_for_requests() -> None:
    """Return when the live servers handle no request; what closes after an answer is over, too."""
    with _changed:
        ended = _changed.wait_for(lambda: not _running, PATIENCE)
        paths = [handler.environ.get("PATH_INFO") for handler in _running]
        assert ended, f"These requests did not end: {paths}"
