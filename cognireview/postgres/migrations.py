"""Bringing the database up to date while people work on it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import LockNotAvailable

# Of several processes that start at once, one migrates; the others wait and find it done.
# They ask again and again: a statement that waits would hold up an index that is made concurrently.
_LOCK = "SELECT pg_try_advisory_lock(hashtext('cognireview.migrate'))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtext('cognireview.migrate'))"
# A change of a table waits for whoever reads it, and whoever comes then waits behind the change. So it
# gives up soon, lets them through, and comes again: before PostgreSQL looks for deadlocks, which takes it a
# second and may end a request of somebody's.
_SET_LOCK_TIMEOUT = "SET lock_timeout = '500ms'"
_RESET_LOCK_TIMEOUT = "RESET lock_timeout"
_LOCK_POLL_SECONDS = 0.5
_ATTEMPTS = 150
_RETRY_SECONDS = 1.5


def require_session(command: str) -> None:
    """Raise `ImproperlyConfigured` behind a transaction pooler.

    What one statement sets there, the next may not find, and another client may get.
    """
    if settings.ENVIRONMENT.transaction_pooler:
        raise ImproperlyConfigured(
            f"COGNIREVIEW_TRANSACTION_POOLER: `{command}` needs a connection of its own. Run it with the "
            "DATABASE_URL of PostgreSQL itself, and with COGNIREVIEW_TRANSACTION_POOLER=false."
        )


def migrate(report: Callable[[str], object] = bool) -> None:
    """Apply the migrations that are missing, after a line to `report`."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        require_session("migrate")
        report("Applying migrations...")
        call_command("migrate", verbosity=0, interactive=False)


@contextmanager
def migration_lock(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Let no other process migrate the database meanwhile."""
    while not _execute(database, _LOCK):
        time.sleep(_LOCK_POLL_SECONDS)
    try:
        yield
    finally:
        # Who lost the connection has lost the lock with it.
        if database.is_usable():
            _execute(database, _UNLOCK)


def retry_on_lock_timeout(
    database: BaseDatabaseWrapper, apply: Callable[[], object], say: Callable[[str], None]
) -> None:
    """Call `apply`, again if a migration in it was in somebody's way: it was taken back, and none before it.

    Raises `CommandError` when somebody keeps a table for minutes.
    """
    _execute(database, _SET_LOCK_TIMEOUT)
    try:
        for _ in range(_ATTEMPTS):
            try:
                with database.execute_wrapper(_without_timeout):
                    apply()
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                say("Somebody uses a table that is to be changed; trying again in a moment.")
                time.sleep(_RETRY_SECONDS)
            else:
                return
        raise CommandError(
            "Somebody keeps a table that is to be changed. See pg_stat_activity, and migrate again."
        )
    finally:
        if database.is_usable():
            _execute(database, _RESET_LOCK_TIMEOUT)


def _without_timeout(execute: Any, statement: Any, values: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
    """Run a statement that nobody waits behind for as long as it takes: an index cut short stays broken."""
    if "CONCURRENTLY" not in str(statement):
        return execute(statement, values, many, context)
    execute(_RESET_LOCK_TIMEOUT, None, False, context)  # noqa: FBT003
    try:
        return execute(statement, values, many, context)
    finally:
        execute(_SET_LOCK_TIMEOUT, None, False, context)  # noqa: FBT003


def _execute(database: BaseDatabaseWrapper, statement: str) -> Any:
    """The first value that the statement gives, if any."""
    with database.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None
