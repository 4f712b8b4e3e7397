"""Detect database outages, so that requests fail fast instead of waiting for a connection.

The first connection error starts a thread with a connection of its own. If the database does not answer,
`is_active()` is true until it answers again.
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
from psycopg.errors import ReadOnlySqlTransaction

from cognireview.operations.disk_full import error_chain
from cognireview.postgres.backend.pool import check_is_primary

RETRY_AFTER = 5
MESSAGE = "The database does not answer. Nothing was changed; try again in a moment."
# SQLSTATE prefixes: connection exceptions (08), a server that shuts down, crashes or starts, too many
# connections, and a standby, or another server that takes no writes. Without any answer there is no state.
_OUTAGE_STATES = ("08", "57P01", "57P02", "57P03", "53300", "25006")
_POLL_SECONDS = 0.5
_CONNECT_TIMEOUT_SECONDS = 3
log = logging.getLogger(__name__)


def is_outage(error: BaseException | None) -> bool:
    """Return whether the error or one of its causes means that the database could not be reached."""
    for one in error_chain(error):
        if isinstance(one, psycopg.OperationalError | psycopg.InterfaceError | ReadOnlySqlTransaction):
            return one.sqlstate is None or one.sqlstate.startswith(_OUTAGE_STATES)
        if isinstance(one, OperationalError | InterfaceError) and one.__cause__ is None:
            return True
    return False


def database_answers() -> bool:
    """Return whether the database answers on a new connection, outside of the pool.

    A database that refuses the connection (wrong password, too many connections) still answers others. Of
    several hosts, a standby would answer as well, so only a connection to the primary counts.
    """
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    # One query needs none of Django's cursors and adapters.
    for name in ("cursor_factory", "context", "prepare_threshold", "connect_timeout"):
        parameters.pop(name, None)
    place = make_conninfo(**parameters, connect_timeout=_CONNECT_TIMEOUT_SECONDS)
    try:
        with psycopg.connect(place) as connection:
            connection.execute("SELECT 1")
            check_is_primary(connection)
    except psycopg.Error:
        # A refused connection has no SQLSTATE. A standby answers pings, too.
        return "target_session_attrs" not in parameters and pq.PGconn.ping(place.encode()) == pq.Ping.OK
    return True


class _Watch:
    """Watch the database from one process, with at most one thread."""

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
            # Ends the waits of the first requests. Django creates a new pool on demand.
            cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS]).close_pool()
            while not database_answers():
                time.sleep(_POLL_SECONDS)
            log.warning("The database answers again.")
        finally:
            with self._lock:
                self.is_active = self._is_running = False


_watch = _Watch()


def start_watch(*_: object) -> None:
    """Check in the background whether the database answers. Call this after a connection error."""
    _watch.start()


def is_active() -> bool:
    """Return whether an outage is known."""
    return _watch.is_active
