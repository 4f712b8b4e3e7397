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

from cognireview.operations.disk_full import chain

RETRY_AFTER = 5
SENTENCE = "The database does not answer. Nothing was changed; try again in a moment."
# No answer at all has no state. Of those that have one: connection exceptions (08...), a server that shuts
# down, crashes or starts up, and one that takes no more connections.
_STATES_OF_AN_OUTAGE = ("08", "57P01", "57P02", "57P03", "53300")
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_ANSWER = 3
log = logging.getLogger(__name__)


def is_outage(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that the database could not be reached."""
    for one in chain(error):
        if isinstance(one, psycopg.OperationalError | psycopg.InterfaceError):
            return _is_state_of_an_outage(one.sqlstate)
        if isinstance(one, OperationalError | InterfaceError) and one.__cause__ is None:
            return True
    return False


def _is_state_of_an_outage(state: str | None) -> bool:
    return state is None or state.startswith(_STATES_OF_AN_OUTAGE)


def answers() -> bool:
    """Whether the database answers, by a connection of its own: the pool's may be waiting for it.

    One that refuses us, by its password or because it takes no more connections, answers those who have one.
    """
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    # Not Django's own cursors and adapters: this asks one question.
    for name in ("cursor_factory", "context", "prepare_threshold", "connect_timeout"):
        parameters.pop(name, None)
    place = make_conninfo(**parameters, connect_timeout=_SECONDS_TO_ANSWER)
    try:
        with psycopg.connect(place) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        # Who is refused a connection gets no state of the error.
        return pq.PGconn.ping(place.encode()) == pq.Ping.OK
    return True


class _LookOut:
    """What one process knows of the database. At most one thread looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_looking = False
        self.is_on = False

    def begin(self) -> None:
        with self._lock:
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, name="look-out", daemon=True).start()

    def _look(self) -> None:
        try:
            if answers():
                return
            self.is_on = True
            log.warning("The database does not answer: requests are answered with 503 until it does.")
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            # Ends the wait of those who were there first. Django makes a new one when it is asked again.
            cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS]).close_pool()
            while not answers():
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            log.warning("The database answers again.")
        finally:
            with self._lock:
                self.is_on = self._is_looking = False


_look_out = _LookOut()


def begin(*_: object) -> None:
    """Look whether the database is away: something could not reach it. Returns at once."""
    _look_out.begin()


def is_on() -> bool:
    """Whether the database is known to be away."""
    return _look_out.is_on
