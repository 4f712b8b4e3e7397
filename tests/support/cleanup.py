"""Empty the tables after a transactional test, much faster than Django's `flush`.

`flush` truncates all tables and creates the permissions and groups again. This deletes the rows of the other
tables, where there are any. A replica runs no triggers, so append-only tables accept it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import TransactionTestCase

# The name of the connection that cleans up.
CLEANUP = "clean-up of tests"
# Tables with the rows of `migrate`, which no test may change.
_KEPT_TABLES = (
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_migrations",
)
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_KEPT_ROWS = " UNION ALL ".join(
    f"SELECT '{name}' AS place, kept::text FROM {name} AS kept" for name in _KEPT_TABLES
)
_DIGEST = f"""
    SELECT md5(string_agg(place || kept, ' ' ORDER BY place, kept))
    FROM ({_KEPT_ROWS} UNION ALL SELECT relname, '' FROM ({_TABLES}) AS tables) AS kept_rows
"""


class _Cleaner:
    """Empties the tables over a connection of its own, which keeps the plans of its queries.

    The connection of a test is new: there, PostgreSQL would read the catalog and plan for 20 ms.
    """

    def __init__(self) -> None:
        self._connect()
        self._digest = self._fetch(_DIGEST)
        names = [name for [name] in self._fetch(_TABLES) if name not in _KEPT_TABLES]
        self._filled = " UNION ALL ".join(
            f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in names
        )

    def _connect(self) -> None:
        # A cursor of psycopg's own keeps plans, unlike Django's.
        options = connection.get_connection_params() | {
            "cursor_factory": psycopg.Cursor,
            "application_name": CLEANUP,
        }
        self._connection: Any = psycopg.connect(**options, autocommit=True)

    def _fetch(self, query: str) -> list[tuple[str]]:
        rows: list[tuple[str]] = self._connection.execute(query, prepare=True).fetchall()
        return rows

    def clean_up(self) -> None:
        """Delete all rows. Fail a test that changed the rows of `migrate` or the tables."""
        connection.close()  # Django would close it next. Until then, it might hold locks.
        if self._connection.closed:
            self._connect()
        # Waits for the last request of a closed page.
        if filled := self._fetch(self._filled):
            deletions = " ".join(f"DELETE FROM {name};" for [name] in filled)
            self._connection.execute(
                f"BEGIN; SET LOCAL session_replication_role = replica; {deletions} COMMIT"
            )
        assert self._fetch(_DIGEST) == self._digest, (
            "The test changed tables, permissions, groups or migrations."
        )

    def close(self) -> None:
        self._connection.close()


@contextmanager
def quick_cleanup() -> Iterator[None]:
    """Clean up after transactional tests, and fail a test that changed tables or rows of `migrate`."""
    cleaner = _Cleaner()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", cleaner.clean_up)
        yield
    cleaner.close()
