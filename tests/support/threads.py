"""Run code concurrently in threads with their own database connections, like two web processes.

Tests that use these helpers need `django_db(transaction=True)`: other connections see only committed rows.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, overload

from django.db import connections

from reviews.database.statements import execute, fetch_value
from tests.support.waiting import PATIENCE

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

_SOMEBODY_WAITS = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))
"""


@overload
def together(*actions: Callable[[], T]) -> list[T]: ...
@overload
def together(*actions: Callable[[], T], expecting: type[E]) -> list[T | E]: ...
def together(*actions: Callable[[], Any], expecting: type[Exception] | tuple[()] = ()) -> list[Any]:
    """Run all actions at the same time. Return their results or expected exceptions, in order."""
    barrier = threading.Barrier(len(actions), timeout=PATIENCE)

    def outcome(action: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return action()
        except expecting as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(_apart, outcome, action) for action in actions]]


def start_and_wait_for_lock(action: Callable[[], T]) -> Future[T]:
    """Start an action on another connection and return once it waits for a lock of this connection."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(_apart, action)
    pool.shutdown(wait=False)
    while not future.done():
        if fetch_value(_SOMEBODY_WAITS) is True:
            break
        time.sleep(0.005)
    return future


def _apart(action: Callable[..., T], *arguments: object) -> T:
    """Run an action in a thread and close its connection. A lock wait of over a minute fails."""
    try:
        execute(f"SET lock_timeout = '{PATIENCE}s'")
        return action(*arguments)
    finally:
        connections.close_all()
