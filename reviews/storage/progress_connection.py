"""Report job progress over a second connection, so it is visible before the job's transaction commits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

SECONDS_BETWEEN_REPORTS = 0.5
# A report does not wait for the disk, which would write all rows of the job so far. After a crash, the job is
# restarted anyway.
_WITHOUT_WAITING = "SET LOCAL synchronous_commit = off; "

_Row = tuple[Any, ...] | None


@contextmanager
def open_progress_connection() -> Iterator["ProgressConnection"]:
    """Open a second database connection for the length of the block."""
    connection = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        yield ProgressConnection(connection)
    finally:
        connection.close()


class ProgressConnection:
    """A connection in autocommit mode. Each statement returns its first row, if any."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._next_report = 0.0

    def execute(self, statement: str, values: dict[str, Any]) -> _Row:
        with self._connection.cursor() as cursor:
            cursor.execute(_WITHOUT_WAITING + statement, values)
            cursor.nextset()
            return cursor.fetchone() if cursor.description else None

    def report(self, statement: str, values: dict[str, Any]) -> _Row:
        """Execute the statement, but at most once every `SECONDS_BETWEEN_REPORTS` (seconds).

        Returns the first row of its result; None without one, or if the statement was not executed.
        """
        if time.monotonic() < self._next_report:
            return None
        self._next_report = time.monotonic() + SECONDS_BETWEEN_REPORTS
        return self.execute(statement, values)
