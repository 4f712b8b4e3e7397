"""End the live server's requests with their test, and take their connections from a pool, as `wsgi.py` does.

A request may outlive the answer that a client has received, and a closed page may send one after its test.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.servers.basehttp import ServerHandler
from django.db import DEFAULT_DB_ALIAS, connections

from tests.support.waiting import PATIENCE

_running: set[ServerHandler] = set()
_changed = threading.Condition()
_is_refusing = threading.Event()


@contextmanager
def counted_requests() -> Iterator[None]:
    """Count the requests that the live servers of this process handle, and refuse those between tests.

    Their pool is closed after the block.
    """
    run = ServerHandler.run

    def count_and_run(handler: ServerHandler, application: Any) -> None:
        with _changed:
            if _is_refusing.is_set():
                application = _refuse
            _running.add(handler)
        _use_pool()
        try:
            run(handler, application)
        finally:
            with _changed:
                _running.remove(handler)
                _changed.notify_all()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerHandler, "run", count_and_run)
        yield
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if pool := connection._connection_pools.pop(DEFAULT_DB_ALIAS, None):
        pool.close()


def _use_pool() -> None:
    """Let the requests of this thread use connections again, with the statements prepared there.

    Each new connection reads the catalog and plans.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    given = connection.settings_dict
    if "pool" not in given["OPTIONS"]:
        pool = {"min_size": 1, "max_size": 10, "timeout": PATIENCE}
        options = given["OPTIONS"] | {"pool": pool, "prepare_threshold": 1}
        connection.settings_dict = given | {"OPTIONS": options}


def _refuse(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answer without the program, and so without the database."""
    start_response("503 Service Unavailable", [("Content-Length", "0")])
    return []


@contextmanager
def requests_of_a_test() -> Iterator[None]:
    """Let requests in during the block, and wait for their end after it."""
    _is_refusing.clear()
    try:
        yield
    finally:
        _is_refusing.set()
        _wait_for_requests()


def _wait_for_requests() -> None:
    """Return when the live servers handle no request; what closes after an answer is over, too."""
    with _changed:
        ended = _changed.wait_for(lambda: not _running, PATIENCE)
        paths = [handler.base_env.get("PATH_INFO") for handler in _running]
        assert ended, f"These requests did not end: {paths}"
