"""Reading by a replica, so that exports and reports are no burden to the server that takes decisions.

What reads runs unaltered: while it does, the connection `default` of its thread is the one to the replica,
which refuses to write. A replica that is away, behind what was committed before it was asked, no replica of
the primary, or cancels a query is left aside for a while, and the primary read.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import ParamSpec, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, OperationalError, connections, transaction

log = logging.getLogger(__name__)

ALIAS = "replica"
LONGEST_WAIT = 5.0  # seconds until it has replayed what the primary had committed
LEFT_ASIDE_FOR = 30.0  # seconds
# A conflict with recovery, a timeout, a connection that is gone. A refused write is our own fault.
# psycopg's own come from where Django closes a cursor.
_FAILURES = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)

# All that is committed is written by then; without synchronous commit it may still be on its way.
_COMMITTED = """
    SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
            ELSE pg_current_wal_lsn() END)::text, system_identifier
    FROM pg_control_system()
"""
# Of another server, or of one that was promoted, a position says nothing.
_REPLAYED = """
    SELECT pg_is_in_recovery() AND system_identifier = %s, pg_last_wal_replay_lsn() >= %s::pg_lsn
    FROM pg_control_system()
"""

_T = TypeVar("_T")
_P = ParamSpec("_P")


class Lost(Exception):
    """The replica failed while it was read. Who asks again reads the primary."""


class _Unfit(Exception):
    """Why the replica cannot be read now."""


class _Aside:
    """Until when this process leaves the replica aside, on the clock of `time.monotonic`."""

    until = 0.0


def by_replica(action: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a function that changes nothing read by the replica; where that fails, all of it by the primary.

    Inside a transaction it reads what that does.
    """

    @wraps(action)
    def reading(*args: _P.args, **options: _P.kwargs) -> _T:
        if not connections[DEFAULT_DB_ALIAS].in_atomic_block and _is_fit():
            try:
                with _in_place():
                    return action(*args, **options)
            except _FAILURES as error:
                _leave_aside(error)
        return action(*args, **options)

    return reading


def by_replica_in_steps(
    generator: Callable[_P, Iterator[_T]],
) -> Callable[_P, Generator[_T, None, None]]:
    """Let a generator read by the replica; whoever takes what it yields goes on with the primary.

    What was yielded cannot be taken back: the generator raises `Lost` if the replica fails on the way.
    """

    @wraps(generator)
    def reading(*args: _P.args, **options: _P.kwargs) -> Generator[_T, None, None]:
        steps = generator(*args, **options)
        if not _is_fit():
            yield from steps
            return
        try:
            while True:
                with _in_place():
                    step = next(steps)
                yield step
        except StopIteration:
            return
        except _FAILURES as error:
            _leave_aside(error)
            raise Lost(f"The replica broke off: {_reason(error)}") from error
        finally:
            with _in_place(), suppress(*_FAILURES):
                _close(steps)

    return reading


def again_if_lost(action: Callable[[], _T]) -> _T:
    """Call what reads by the replica; if it is `Lost`, once more, which then reads by the primary."""
    try:
        return action()
    except Lost:
        return action()


@contextmanager
def _in_place() -> Iterator[None]:
    """Let the connection to the replica be this thread's `default`."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before


def _close(steps: Iterator[object]) -> None:
    if isinstance(steps, Generator):
        steps.close()


def _is_fit() -> bool:
    """Whether there is a replica to read by, which has all that is committed now. May wait for that."""
    is_read_already = connections[DEFAULT_DB_ALIAS].alias == ALIAS
    if ALIAS not in connections.settings or is_read_already or time.monotonic() < _Aside.until:
        return False
    try:
        _wait()
    except (_Unfit, Error) as reason:
        _leave_aside(reason)
        return False
    return True


def _wait() -> None:
    """Wait until the replica has replayed all that is committed. Raises `_Unfit` or an error of Django's."""
    # Inside the transaction of an export, a savepoint.
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_COMMITTED)
        committed, system = cursor.fetchone() or ("", 0)
    end, pause = time.monotonic() + LONGEST_WAIT, 0.005
    with connections[ALIAS].cursor() as cursor:
        while True:
            cursor.execute(_REPLAYED, [system, committed])
            is_replica, has_replayed = cursor.fetchone() or (False, False)
            if not is_replica:
                raise _Unfit("it is no replica of the server in DATABASE_URL")
            if has_replayed:
                return
            if time.monotonic() > end:
                raise _Unfit(f"it is more than {LONGEST_WAIT:.0f} s behind")
            time.sleep(pause)
            pause = min(2 * pause, 0.1)


def _leave_aside(reason: Exception) -> None:
    _Aside.until = time.monotonic() + LEFT_ASIDE_FOR
    log.warning("The primary is read for the next %.0f s. The replica: %s", LEFT_ASIDE_FOR, _reason(reason))
    connections[ALIAS].close()


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
