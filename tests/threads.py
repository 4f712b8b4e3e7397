"""What happens at once: threads with a database connection of their own, as two web processes have.

Whoever uses this is marked `django_db(transaction=True)`: other connections see only what is committed.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from django.db import connection, connections

T = TypeVar("T")

_SOMEBODY_WAITS = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))
"""


def together(*actions: Callable[[], T]) -> list[T | Exception]:
    """Run all actions at the same time; what each returned or raised, in order."""
    barrier = threading.Barrier(len(actions), timeout=30)

    def outcome(action: Callable[[], T]) -> T | Exception:
        connection.ensure_connection()
        barrier.wait()
        try:
            return action()
        except Exception as error:  # noqa: BLE001 the test looks at it
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(outcome, actions))


def start_and_wait_for_lock(action: Callable[[], T]) -> Future[T]:
    """Start an action on another connection and return once it waits for a lock this connection holds."""

    def closing() -> T:
        try:
            return action()
        finally:
            connections.close_all()

    pool = ThreadPoolExecutor(1)
    future = pool.submit(closing)
    pool.shutdown(wait=False)
    with connection.cursor() as cursor:
        while not future.done():
            cursor.execute(_SOMEBODY_WAITS)
            if cursor.fetchone() == (True,):
                break
            time.sleep(0.005)
    return future
