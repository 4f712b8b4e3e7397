"""The WSGI application that the web server runs, with its database connections pooled."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cognireview.settings")
# Only web processes pool: a command has one connection, and tests count theirs.
settings.DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 1,
    "max_size": settings.ENVIRONMENT.database_pool_size,
    "timeout": 10,
}
application = get_wsgi_application()
