"""Execute single statements, prepared if they are hot, and fetch their rows, with large bytes as they are."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
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


@contextmanager
def prepared_statements() -> Iterator[None]:
    """Keep the plans of the statements in this block that a connection has sent before.

    For statements whose best plan does not depend on their parameters. They must name their columns:
    `table.*` fails after a migration has added one. Also a decorator. Without effect behind a transaction
    pooler, where the pool sets no `prepare_threshold`.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    before, connection.prepares = connection.prepares, True
    try:
        yield
    finally:
        connection.prepares = before


@contextmanager
def binary_rows() -> Iterator[None]:
    """Fetch the rows of the statements in this block in PostgreSQL's binary format.

    For rows of numbers, texts and bytes. Evaluate query sets inside the block.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    before, connection.fetches_binary = connection.fetches_binary, True
    try:
        yield
    finally:
        connection.fetches_binary = before
