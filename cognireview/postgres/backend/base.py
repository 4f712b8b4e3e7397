"""Django's PostgreSQL backend, but for cursors that PostgreSQL keeps: those end with their transaction.

Outside of one, Django's `iterator()` would leave a cursor on the connection for the queries after it, which
behind a transaction pooler may be another's by then. Its forms and allauth do so.
"""

from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """What goes through very many rows does so in a transaction; else all of them come at once."""

    def chunked_cursor(self) -> Any:
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()
