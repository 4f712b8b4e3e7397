"""The database is away: how that is told from errors of ours, and what nobody has to wait for meanwhile.

The first error of that kind starts a look-out, a thread with a connection of its own. If it finds the
database away, `is_on()` is true until it answers again, and requests are answered at once instead of each
waiting for a connection that cannot come.
"""

import logging
import threading
import time
from typing import cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import pq
from psycopg.conninfo import make_conninfo

from cognireview.operations.disk_full import error_chain

RETRY_AFTER = 5
MESSAGE = "The database does not answer. Nothing was changed; try again in a moment."
# No answer at all has no state. Of those that have one: connection exceptions (08...), a server that shuts
# down, crashes or starts up, and one that takes no more connections.
_OUTAGE_STATES = ("08", "57P01", "57P02", "57P03", "53300")
_POLL_SECONDS = 0.5
_CONNECT_TIMEOUT_SECONDS = 3
log = logging.getLogger(__name__)


def is_outage(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that the database could not be reached."""
    for one in error_chain(error):
        if isinstance(one, psycopg.OperationalError | psycopg.InterfaceError):
            return _is_outage_state(one.sqlstate)
        if isinstance(one, OperationalError | InterfaceError) and one.__cause__ is None:
            return True
    return False


def _is_outage_state(state: str | None) -> bool:
    return state is None or state.startswith(_OUTAGE_STATES)


def database_answers() -> bool:
    """Whether the database answers, by a connection of its own: the pool's may be waiting for it.

    One that refuses us, by its password or because it takes no more connections, answers those who have one.
    """
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    # Not Django's own cursors and adapters: this asks one question.
    for name in ("cursor_factory", "context", "prepare_threshold", "connect_timeout"):
        parameters.pop(name, None)
    place = make_conninfo(**parameters, connect_timeout=_CONNECT_TIMEOUT_SECONDS)
    try:
        with psycopg.connect(place) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        # Who is refused a connection gets no state of the error.
        return pq.PGconn.ping(place.encode()) == pq.Ping.OK
    return True


class _Watch:
    """What one process knows of the database. At most one thread looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_running = False
        self.is_active = False

    def start(self) -> None:
        with self._lock:
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="outage-watch", daemon=True).start()

    def _run(self) -> None:
        try:
            if database_answers():
                return
            self.is_active = True
            log.warning("The database does not answer: requests are answered with 503 until it does.")
            time.sleep(_POLL_SECONDS)
            # Ends the wait of those who were there first. Django makes a new one when it is asked again.
            cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS]).close_pool()
            while not database_answers():
                time.sleep(_POLL_SECONDS)
            log.warning("The database answers again.")
        finally:
            with self._lock:
                self.is_active = self._is_running = False


_watch = _Watch()


def start_watch(*_: object) -> None:
    """Look whether the database is away: something could not reach it. Returns at once."""
    _watch.start()


def is_active() -> bool:
    """Whether the database is known to be away."""
    return _watch.is_active
