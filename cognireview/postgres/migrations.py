"""Apply migrations while people work on the database."""

import pkgutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

# If several processes start at once, one migrates and the others wait. They poll, because a waiting statement
# would block CREATE INDEX CONCURRENTLY.
_LOCK = "SELECT pg_try_advisory_lock(hashtext('cognireview.migrate'))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtext('cognireview.migrate'))"
# ALTER TABLE waits for running queries, and new queries queue behind it. So it times out, lets them pass and
# retries. The timeout is below deadlock_timeout (1 s), because a deadlock check may cancel a user's request.
_SET_LOCK_TIMEOUT = "SET lock_timeout = '500ms'"
_RESET_LOCK_TIMEOUT = "RESET lock_timeout"
_COLUMNS = """
    SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND attnum > 0
      AND NOT attisdropped
"""
_LOCK_POLL_SECONDS = 0.5
_ATTEMPTS = 150
_RETRY_SECONDS = 1.5


def require_session(command: str) -> None:
    """Raise `ImproperlyConfigured` behind a transaction pooler, where session settings do not last."""
    if settings.ENVIRONMENT.transaction_pooler:
        raise ImproperlyConfigured(
            f"COGNIREVIEW_TRANSACTION_POOLER: `{command}` needs a session. Run it with the "
            "DATABASE_URL of PostgreSQL itself and COGNIREVIEW_TRANSACTION_POOLER=false."
        )


def migrate(report: Callable[[str], object] = bool) -> None:
    """Apply missing migrations, and `report` that first."""
    if missing_migrations():
        require_session("migrate")
        report("Applying migrations...")
        call_command("migrate", verbosity=0, interactive=False)


def missing_migrations() -> frozenset[tuple[str, str]]:
    """Return the app and the name of each migration that has not been applied.

    Reads the names of files. Importing the migrations takes a fifth of a command's start, and 13 MB of each
    web process that answers a readiness probe.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('django_migrations')")
        if cursor.fetchone() == (None,):
            return _names_of_migrations()
        cursor.execute("SELECT app, name FROM django_migrations")
        return _names_of_migrations() - set(cursor)


def require_fit() -> None:
    """Raise `ImproperlyConfigured` if the database has all migrations, but not the tables of this version."""
    if lacking := missing_column():
        place = "DATABASE_URL" if settings.ENVIRONMENT.database_url else "COGNIREVIEW_DATA_DIR"
        raise ImproperlyConfigured(
            f"The database lacks {lacking}, though all migrations are applied: a development version of "
            f"CogniReview created it. Export what you need with that version, then use another {place}."
        )


def missing_column() -> str:
    """Return a column of this version that the database lacks, as `table.column`, or an empty string.

    The database may have applied migrations with the same names but other contents.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        found = set(cursor)
    return next(
        (f"{table}.{column}" for table, column in _columns_of_models() if (table, column) not in found), ""
    )


def _columns_of_models() -> Iterator[tuple[str, str]]:
    """Yield table and column of each field of our models. Packages keep the names of released migrations."""
    for model in apps.get_app_config("reviews").get_models(include_auto_created=True):
        for field in model._meta.local_concrete_fields:
            yield model._meta.db_table, str(field.column)


@cache
def _names_of_migrations() -> frozenset[tuple[str, str]]:
    """Return the app and the name of each migration file."""
    return frozenset(
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in pkgutil.iter_modules(_folders_of_migrations(app))
    )


def _folders_of_migrations(app: AppConfig) -> list[str]:
    """Return the folders of an app's migrations, without importing them. Most apps have one or none."""
    package = settings.MIGRATION_MODULES.get(app.label, f"{app.name}.migrations")
    spec = find_spec(package) if package else None
    return list(spec.submodule_search_locations or ()) if spec else []


@contextmanager
def migration_lock(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Hold the lock that lets one process at a time migrate the database."""
    while not _execute(database, _LOCK):
        time.sleep(_LOCK_POLL_SECONDS)
    try:
        yield
    finally:
        # A lost connection has released the lock.
        if database.is_usable():
            _execute(database, _UNLOCK)


def retry_on_lock_timeout(
    database: BaseDatabaseWrapper, apply: Callable[[], object], say: Callable[[str], None]
) -> None:
    """Call `apply`, and retry while a migration cannot lock a table. Earlier migrations stay applied.

    Raises `CommandError` if a table stays locked for minutes.
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
                say("A table to be changed is in use. Retrying.")
                time.sleep(_RETRY_SECONDS)
            else:
                return
        raise CommandError(
            "A table to be changed stays in use. See pg_stat_activity, then run migrate again."
        )
    finally:
        if database.is_usable():
            _execute(database, _RESET_LOCK_TIMEOUT)


def _without_timeout(execute: Any, statement: Any, values: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
    """Run CONCURRENTLY statements without the timeout: they block nobody, and must not be cancelled."""
    if "CONCURRENTLY" not in str(statement):
        return execute(statement, values, many, context)
    execute(_RESET_LOCK_TIMEOUT, None, False, context)  # noqa: FBT003
    try:
        return execute(statement, values, many, context)
    finally:
        execute(_SET_LOCK_TIMEOUT, None, False, context)  # noqa: FBT003


def _execute(database: BaseDatabaseWrapper, statement: str) -> Any:
    """Execute the statement and return its first value, if any."""
    with database.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None
