"""A pool that lends the connection that was returned last, and checks it without a query."""

import select
from collections import deque
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

_Connection = psycopg.Connection[Any]


class _Stack(deque[_Connection]):
    """Idle connections. The pool takes them from the left, and appends those that are returned."""

    append = deque[_Connection].appendleft


class WarmestFirstPool(ConnectionPool[_Connection]):
    """Lend the connection that was returned last, and close the one that has been idle longest.

    psycopg's pool lends them in turns. After a burst, each of its connections would have to plan the
    statements of a page several times until it keeps the plans, long after one of them suffices.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(check=check_connection, **options)
        self._pool = _Stack()

    def _shrink_pool(self) -> None:
        with self._lock:
            # On these conditions, the pool closes the first idle connection.
            if self._nconns > self._min_size and self._nconns_min > 0:
                self._pool.rotate()
        super()._shrink_pool()


def check_connection(connection: _Connection) -> None:
    """Raise an error if a pooled connection has been lost, without a query if nothing has arrived on it.

    An idle connection receives bytes, or its end, only if the server stops, ends it or reloads settings.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)
    check_is_primary(connection)


def check_is_primary(connection: _Connection) -> None:
    """Raise an error if the server last reported that it is a standby. It reports a promotion."""
    if connection.info.parameter_status("in_hot_standby") == "on":
        raise psycopg.OperationalError("The server is a standby, which takes no writes.")
