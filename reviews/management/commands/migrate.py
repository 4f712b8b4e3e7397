"""`manage.py migrate`: Django's, one at a time, and in nobody's way."""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

from cognireview.postgres.migrating import alone, patiently
from cognireview.postgres.server_log import contents_may_be_logged


class Command(migrate.Command):
    """See `cognireview.postgres.migrating`."""

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        # What these do is to look.
        if options["check_unapplied"] or options["plan"]:
            super().handle(*args, **options)
            return
        with alone(database):
            patiently(database, partial(super().handle, *args, **options), self.stderr.write)
        if settings.ENVIRONMENT.database_url and (sentence := contents_may_be_logged(database)):
            self.stderr.write(sentence)
