"""Execute single statements, and fetch their rows. Without values, `%` in a statement stands for itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from psycopg.sql import Composed

_Values = Sequence[Any] | Mapping[str, Any] | None


def execute(statement: str | Composed, values: _Values = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def fetch_all(statement: str | Composed, values: _Values = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def fetch_one(statement: str | Composed, values: _Values = None) -> tuple[Any, ...] | None:
    """Return the first row, if any."""
    return next(iter(fetch_all(statement, values)), None)


def fetch_value(statement: str | Composed, values: _Values = None) -> Any:
    """Return the first column of the first row; None without a row."""
    row = fetch_one(statement, values)
    return row[0] if row else None
