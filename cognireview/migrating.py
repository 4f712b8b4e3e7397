"""Bringing the database up to date while people work on it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import LockNotAvailable

# Of several processes that start at once, one migrates; the others wait and find it done.
_LOCK = "SELECT pg_advisory_lock(hashtext('cognireview.migrate'))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtext('cognireview.migrate'))"
# A change of a table waits for whoever reads it, and whoever comes then waits behind the change. So it
# gives up soon, lets them through, and comes again.
_LIMIT_WAIT = "SET lock_timeout = '2s'"
_END_LIMIT = "RESET lock_timeout"
_ATTEMPTS = 60
_SECONDS_BETWEEN_ATTEMPTS = 3


def migrate() -> None:
    """Apply the migrations that are missing."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


@contextmanager
def alone(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Let no other process migrate the database meanwhile."""
    _execute(database, _LOCK)
    try:
        yield
    finally:
        # Who lost the connection has lost the lock with it.
        if database.is_usable():
            _execute(database, _UNLOCK)


def patiently(database: BaseDatabaseWrapper, apply: Callable[[], None], say: Callable[[str], None]) -> None:
    """Call `apply`, again if a migration in it was in somebody's way: it was taken back, and none before it.

    Raises `CommandError` when somebody keeps a table for minutes.
    """
    _execute(database, _LIMIT_WAIT)
    try:
        for _ in range(_ATTEMPTS):
            try:
                apply()
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                say("Somebody uses a table that is to be changed; trying again in a moment.")
                time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
            else:
                return
        raise CommandError(
            "Somebody keeps a table that is to be changed. See pg_stat_activity, and migrate again."
        )
    finally:
        if database.is_usable():
            _execute(database, _END_LIMIT)


def _execute(database: BaseDatabaseWrapper, statement: str) -> None:
    with database.cursor() as cursor:
        cursor.execute(statement)
