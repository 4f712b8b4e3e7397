"""The WSGI application that the web server runs, with its database connections pooled."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from cognireview.operations import outage

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cognireview.settings")
# Only web processes pool: a command has one connection, and tests count theirs.
settings.DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 1,
    "max_size": settings.ENVIRONMENT.database_pool_size,
    # Longer than it takes to find the database away, which ends the wait.
    "timeout": 4,
    # The pool gives up soon, and tries anew for who asks: by itself it would wait longer and longer.
    "reconnect_timeout": 1,
    "reconnect_failed": outage.start_watch,
}
application = get_wsgi_application()
