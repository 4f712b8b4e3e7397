"""The WSGI application of the web server, with a connection pool."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from cognireview.operations import outage

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cognireview.settings")
_options = settings.DATABASES["default"].setdefault("OPTIONS", {})
# A statement is prepared when a connection sends it again. The next connection of a pooler does not know it.
_options["prepare_threshold"] = None if settings.ENVIRONMENT.transaction_pooler else 1
# Only web processes use a pool: a command has one connection, and tests count queries on theirs.
_options["pool"] = {
    "min_size": 1,
    "max_size": settings.ENVIRONMENT.database_pool_size,
    # One unused connection is closed after each such period. A connection takes 11 MB of PostgreSQL's memory,
    # and 40 MB after an upload. A new one takes 0.1 s of CPU time until its plans are kept.
    "max_idle": 10,
    # Longer than it takes to detect an outage, which ends the wait.
    "timeout": 4,
    # The pool gives up early and retries on demand. By default, it retries with growing pauses.
    "reconnect_timeout": 1,
    "reconnect_failed": outage.start_watch,
}
application = get_wsgi_application()
