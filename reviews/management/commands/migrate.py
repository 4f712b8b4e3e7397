"""`manage.py migrate`: Django's, one at a time, and in nobody's way."""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

from cognireview.postgres.migrations import migration_lock, retry_on_lock_timeout
from cognireview.postgres.server_log import log_privacy_warning


class Command(migrate.Command):
    """See `cognireview.postgres.migrations`."""

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        # What these do is to look.
        if options["check_unapplied"] or options["plan"]:
            super().handle(*args, **options)
            return
        with migration_lock(database):
            retry_on_lock_timeout(database, partial(super().handle, *args, **options), self.stderr.write)
        if settings.ENVIRONMENT.database_url and (sentence := log_privacy_warning(database)):
            self.stderr.write(sentence)
