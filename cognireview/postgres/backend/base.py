"""Django's PostgreSQL backend with prepared statements and a cheap check of pooled connections.

It has no server-side cursors outside of transactions. There, Django's `iterator()`, which forms use, would
declare a cursor WITH HOLD. Behind a transaction pooler, the next query may use another connection.
"""

import datetime as dt
import select
from functools import cache
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import ConnectionPool


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
    """Fetch all rows at once outside of a transaction. Prepare statements while `prepares` is set."""

    #: Whether cursors send parameters apart from their statement, which PostgreSQL can prepare.
    prepares = False

    def get_connection_params(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super().get_connection_params()
        return {**parameters, "context": _with_moments(parameters["context"])}

    def chunked_cursor(self) -> Any:
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def create_cursor(self, name: str | None = None) -> Any:
        factory = base.ServerBindingCursor if self.prepares else base.Cursor
        self.connection.cursor_factory = factory
        return super().create_cursor(name)

    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool:
            pool._check = check_connection  # noqa: SLF001 Django allows only the check that sends a query
        return pool


def check_connection(connection: "psycopg.Connection[Any]") -> None:
    """Raise an error if a pooled connection has been lost, without a query if nothing has arrived on it.

    An idle connection receives bytes, or its end, only if the server stops, ends it or reloads settings.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)
    check_is_primary(connection)


def check_is_primary(connection: "psycopg.Connection[Any]") -> None:
    """Raise an error if the server was a standby when it last reported, as it does after a promotion."""
    if connection.info.parameter_status("in_hot_standby") == "on":
        raise psycopg.OperationalError("The server is a standby, which takes no writes.")
