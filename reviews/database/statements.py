"""Execute single statements, and fetch their rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from psycopg.sql import Composed

_Values = Sequence[Any] | Mapping[str, Any]


def execute(statement: str | Composed, values: _Values = ()) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def fetch_all(statement: str | Composed, values: _Values = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def fetch_one(statement: str | Composed, values: _Values = ()) -> tuple[Any, ...] | None:
    """Return the first row, if any."""
    return next(iter(fetch_all(statement, values)), None)
