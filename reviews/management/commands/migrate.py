"""`manage.py migrate`: Django's command, safe to run while people work."""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

from cognireview.postgres.migrations import (
    migration_lock,
    missing_migrations,
    require_fit,
    retry_on_lock_timeout,
)
from cognireview.postgres.server_log import log_privacy_warning


class Command(migrate.Command):
    help = "Apply database migrations. One process migrates at a time; it retries while tables are in use."

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        # These options change nothing.
        if options["check_unapplied"] or options["plan"]:
            super().handle(*args, **options)
            return
        with migration_lock(database):
            retry_on_lock_timeout(database, partial(super().handle, *args, **options), self.stderr.write)
        # A migration may be undone, or applied up to a name.
        if not missing_migrations():
            require_fit()
        if settings.ENVIRONMENT.database_url and (warning := log_privacy_warning(database)):
            self.stderr.write(warning)
