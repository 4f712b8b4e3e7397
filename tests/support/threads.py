"""What happens at once: threads with a database connection of their own, as two web processes have.

Whoever uses this is marked `django_db(transaction=True)`: other connections see only what is committed.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, overload

from django.db import connection, connections

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
    """Run all actions at the same time; what each returned, or raised of what is expected, in order."""
    barrier = threading.Barrier(len(actions), timeout=30)

    def outcome(action: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return action()
        except expecting as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(_apart, outcome, action) for action in actions]]


def start_and_wait_for_lock(action: Callable[[], T]) -> Future[T]:
    """Start an action on another connection and return once it waits for a lock this connection holds."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(_apart, action)
    pool.shutdown(wait=False)
    with connection.cursor() as cursor:
        while not future.done():
            cursor.execute(_SOMEBODY_WAITS)
            if cursor.fetchone() == (True,):
                break
            time.sleep(0.005)
    return future


def _apart(action: Callable[..., T], *arguments: object) -> T:
    """Run an action in a thread and close the connection it opened. Who waits for ever fails."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '20s'")
        return action(*arguments)
    finally:
        connections.close_all()
