"""Fetch large bytes as they are, and not as hexadecimal text of twice the size."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


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
