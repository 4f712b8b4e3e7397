"""Let PostgreSQL keep the plans of hot statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


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
