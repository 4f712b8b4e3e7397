"""A pool of few connections: it lends the one that was returned last, and checks it without a query."""

import select
import time
from collections import deque
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool
from psycopg_pool.base import AttemptWithBackoff

_Connection = psycopg.Connection[Any]
# A process computes on one core, which requests with three connections keep busy. More of them would take
# turns at it, and each has to plan the statements.
_ENOUGH = 3
# For how long a request waits for one of them to be returned. Exports keep theirs.
_PATIENCE_SECONDS = 0.1


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

    def _add_connection(
        self,
        attempt: AttemptWithBackoff | None,
        growing: bool = False,  # noqa: FBT001, FBT002 (as the pool has it)
    ) -> None:
        if not growing or attempt or self._needs_another():
            super()._add_connection(attempt, growing)

    def _needs_another(self) -> bool:
        """Return whether the pool needs the connection that it has counted already, or uncount it."""
        while self._nconns > _ENOUGH:
            with self._lock:
                if not self._waiting:
                    self._nconns -= 1
                    self._growing = False
                    return False
                last = self._waiting[-1]
            time.sleep(_PATIENCE_SECONDS)
            with self._lock:
                if last in self._waiting:
                    return True
        return True

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
