"""Bringing the database up to date."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

_LOCK = "SELECT pg_advisory_lock(hashtext('cognireview.migrate'))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtext('cognireview.migrate'))"


def migrate() -> None:
    """Apply the migrations that are missing. Of several processes that start at once, one does."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK)
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0, interactive=False)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(_UNLOCK)
