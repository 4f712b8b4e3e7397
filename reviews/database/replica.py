"""Read from a replica, so that exports and reports do not slow down the primary.

The reading code is unchanged: while it runs, the `default` connection of its thread is the connection to the
replica, which refuses writes. A replica that is unreachable, too far behind, not a replica of the primary, or
that cancels a query is avoided for a while, and the primary is read.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import ParamSpec, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, OperationalError, connections, transaction

from reviews.database.held_transaction import close

log = logging.getLogger(__name__)

ALIAS = "replica"
#: Longest wait, in seconds, until the replica has replayed all commits of the primary.
LONGEST_WAIT = 5.0
#: Seconds for which a failing replica is avoided.
AVOIDED_FOR = 30.0
# Recovery conflicts, timeouts and lost connections. A refused write is a fault of ours and is not caught.
# psycopg raises its own exceptions while Django closes a cursor.
_FAILURES = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)

# The position of the last commit in the WAL. Without synchronous commit it may not be written yet.
_COMMITTED = """
    SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
            ELSE pg_current_wal_lsn() END)::text, system_identifier
    FROM pg_control_system()
"""
# The WAL position of another server, or of a promoted one, says nothing about the primary's.
_REPLAYED = """
    SELECT pg_is_in_recovery() AND system_identifier = %s, pg_last_wal_replay_lsn() >= %s::pg_lsn
    FROM pg_control_system()
"""

_T = TypeVar("_T")
_P = ParamSpec("_P")


class ReplicaLost(Exception):
    """The replica failed during a read. A second attempt reads from the primary."""


class _Unfit(Exception):
    """The replica cannot be read now; the message says why."""


class _Avoided:
    """The time until which this process avoids the replica, by `time.monotonic`."""

    until = 0.0


def read_from_replica(action: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a read-only function to read from the replica, and again from the primary if that fails.

    Inside a transaction it reads from the connection of the transaction.
    """

    @wraps(action)
    def reading(*args: _P.args, **options: _P.kwargs) -> _T:
        if not connections[DEFAULT_DB_ALIAS].in_atomic_block and _is_fit():
            try:
                with _as_default():
                    return action(*args, **options)
            except _FAILURES as error:
                _avoid(error)
        return action(*args, **options)

    return reading


def yield_from_replica(
    generator: Callable[_P, Iterator[_T]],
) -> Callable[_P, Generator[_T, None, None]]:
    """Decorate a generator to read from the replica, while its consumer uses the primary.

    Yielded values cannot be withdrawn: the generator raises `ReplicaLost` if the replica fails midway.
    """

    @wraps(generator)
    def reading(*args: _P.args, **options: _P.kwargs) -> Generator[_T, None, None]:
        steps = generator(*args, **options)
        if not _is_fit():
            yield from steps
            return
        try:
            while True:
                with _as_default():
                    step = next(steps)
                yield step
        except StopIteration:
            return
        except _FAILURES as error:
            _avoid(error)
            raise ReplicaLost(f"The replica failed: {_reason(error)}") from error
        finally:
            with _as_default(), suppress(*_FAILURES):
                close(steps)

    return reading


def retry_if_lost(action: Callable[[], _T]) -> _T:
    """Call a function that reads from the replica; after `ReplicaLost` once more, from the primary."""
    try:
        return action()
    except ReplicaLost:
        return action()


@contextmanager
def _as_default() -> Iterator[None]:
    """Make the connection to the replica this thread's `default` connection."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before


def _is_fit() -> bool:
    """Return whether a replica can be read that has replayed all commits. May wait for it."""
    is_read_already = connections[DEFAULT_DB_ALIAS].alias == ALIAS
    if ALIAS not in connections.settings or is_read_already or time.monotonic() < _Avoided.until:
        return False
    try:
        _wait()
    except (_Unfit, Error) as reason:
        _avoid(reason)
        return False
    return True


def _wait() -> None:
    """Wait until the replica has replayed all commits. Raises `_Unfit` or a database error."""
    # A savepoint, if this runs inside the transaction of an export.
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_COMMITTED)
        committed, system = cursor.fetchone() or ("", 0)
    end, pause = time.monotonic() + LONGEST_WAIT, 0.005
    with connections[ALIAS].cursor() as cursor:
        while True:
            cursor.execute(_REPLAYED, [system, committed])
            is_replica, has_replayed = cursor.fetchone() or (False, False)
            if not is_replica:
                raise _Unfit("it is not a replica of the server in DATABASE_URL")
            if has_replayed:
                return
            if time.monotonic() > end:
                raise _Unfit(f"it is more than {LONGEST_WAIT:.0f} s behind")
            time.sleep(pause)
            pause = min(2 * pause, 0.1)


def problem() -> str:
    """Return why the replica cannot be read now; empty if it can. May wait for it."""
    try:
        _wait()
    except (_Unfit, Error) as reason:
        return _reason(reason)
    return ""


def _avoid(reason: Exception) -> None:
    _Avoided.until = time.monotonic() + AVOIDED_FOR
    log.warning("Reading from the primary for the next %.0f s. Replica: %s", AVOIDED_FOR, _reason(reason))
    connections[ALIAS].close()


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
