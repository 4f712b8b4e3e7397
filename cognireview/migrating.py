"""Bringing the database up to date."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

_LOCK = "SELECT pg_advisory_lock(hashtext('cognireview.migrate'))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtext('cognireview.migrate'))"


def check_session(command: str) -> None:
    """Raise `ImproperlyConfigured` behind a transaction pooler.

    What one statement sets there, the next may not find, and another client may get.
    """
    if settings.ENVIRONMENT.transaction_pooler:
        raise ImproperlyConfigured(
            f"COGNIREVIEW_TRANSACTION_POOLER: `{command}` needs a connection of its own. Run it with the "
            "DATABASE_URL of PostgreSQL itself, and with COGNIREVIEW_TRANSACTION_POOLER=false."
        )


def migrate() -> None:
    """Apply the migrations that are missing. Of several processes that start at once, one does."""
    if not _is_behind():
        return
    check_session("migrate")
    with connection.cursor() as cursor:
        cursor.execute(_LOCK)
    try:
        if _is_behind():
            call_command("migrate", verbosity=0, interactive=False)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(_UNLOCK)


def _is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
