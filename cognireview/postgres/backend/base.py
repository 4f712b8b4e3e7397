"""Django's PostgreSQL backend with prepared statements, binary rows and a pool of our own.

It has no server-side cursors outside of transactions. There, Django's `iterator()`, which forms use, would
declare a cursor WITH HOLD. Behind a transaction pooler, the next query may use another connection.
"""

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format
from psycopg.types.datetime import TimestamptzLoader

from cognireview.postgres.backend.pool import WarmestFirstPool


class _MomentLoader(TimestamptzLoader):
    """Read moments in UTC, the time zone of Django's sessions, at a fifth of the cost of Django's loader."""

    #: Django registers its own loader for a cursor if this is not the time zone of the connection.
    timezone = dt.UTC

    def load(self, data: Buffer) -> dt.datetime:
        try:
            moment = dt.datetime.fromisoformat(str(data, "ascii"))
        except ValueError:  # a year that Python does not know
            moment = super().load(data)
        return moment if moment.tzinfo is self.timezone else moment.astimezone(self.timezone)


@cache
def _with_moments(adapters: AdaptersMap) -> AdaptersMap:
    """Return Django's adapters with the loader of moments."""
    found = AdaptersMap(adapters)
    found.register_loader("timestamptz", _MomentLoader)
    return found


class DatabaseWrapper(base.DatabaseWrapper):
    """Fetch all rows at once outside of a transaction."""

    #: Whether cursors send parameters apart from their statement, which PostgreSQL can prepare.
    prepares = False
    #: Whether cursors fetch rows in PostgreSQL's binary format.
    fetches_binary = False
    # The type stubs of Django leave these out.
    _connection_pools: dict[str, WarmestFirstPool]
    _configure_connection: Callable[[Any], bool]

    def get_connection_params(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super().get_connection_params()
        return {**parameters, "context": _with_moments(parameters["context"])}

    def chunked_cursor(self) -> Any:
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def create_cursor(self, name: str | None = None) -> Any:
        # Only statements with separate parameters can have binary rows.
        separate = self.prepares or self.fetches_binary
        self.connection.cursor_factory = base.ServerBindingCursor if separate else base.Cursor
        cursor = super().create_cursor(name)
        if self.fetches_binary:
            cursor.format = Format.BINARY
        return cursor

    @property
    def pool(self) -> WarmestFirstPool | None:
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = WarmestFirstPool(
                kwargs={**self.get_connection_params(), "autocommit": True},
                configure=self._configure_connection,
                open=False,
                **options,
            )
            # Another thread may have been faster.
            self._connection_pools.setdefault(self.alias, pool)
        return self._connection_pools[self.alias]
