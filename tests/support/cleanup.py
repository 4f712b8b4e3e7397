"""Empty the tables after a transactional test, much faster than Django's `flush`.

`flush` truncates all tables and creates the permissions and groups again. This deletes the rows of the other
tables, where there are any. A replica runs no triggers, so append-only tables accept it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import TransactionTestCase

# Tables with the rows of `migrate`, which no test may change.
_KEPT_TABLES = (
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_migrations",
)
# Waits for the last request of a closed page.
_EMPTY_TABLES = f"""
DO $$ DECLARE name regclass; has_rows boolean; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT IN {_KEPT_TABLES}
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO has_rows;
        IF has_rows THEN
            EXECUTE format('DELETE FROM %s', name);
        END IF;
    END LOOP;
    SET LOCAL session_replication_role = origin;
END $$
"""
_KEPT_ROWS = " UNION ALL ".join(
    f"SELECT '{name}' AS place, kept::text FROM {name} AS kept" for name in _KEPT_TABLES
)
_DIGEST = f"SELECT md5(string_agg(place || kept, ' ' ORDER BY place, kept)) FROM ({_KEPT_ROWS}) AS kept_rows"


def kept_rows_digest() -> str:
    """Return a digest of the rows that `migrate` wrote."""
    with connection.cursor() as cursor:
        cursor.execute(_DIGEST)
        return str(cursor.fetchone()[0])


@contextmanager
def quick_cleanup(digest: str) -> Iterator[None]:
    """Clean up after transactional tests, and fail a test that changed the rows with this digest."""

    def clean_up(_: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_EMPTY_TABLES)
        assert kept_rows_digest() == digest, "The test changed permissions, groups or migrations."

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", clean_up)
        yield
