"""Django's PostgreSQL backend without server-side cursors outside of transactions.

Django's `iterator()` would declare a cursor WITH HOLD there. It would fail behind a transaction pooler, where
the next query may use another connection. Django's forms and allauth use `iterator()`.
"""

from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Fetch all rows at once outside of a transaction."""

    def chunked_cursor(self) -> Any:
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()
