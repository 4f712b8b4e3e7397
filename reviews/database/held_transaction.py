"""A transaction for generators, open while the consumer works.

An unclosed generator ends when it is garbage-collected: in any thread, at any time. Django's `atomic` would
then roll back the transaction of that thread: half of an import, for example, which would commit the other
half.
"""

import logging
import threading
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.transaction import Atomic

NOT_CLOSED = "A generator was not closed. Closing the connection that it left in a transaction."
log = logging.getLogger(__name__)


class HeldTransaction(Atomic):
    """`transaction.atomic()` for generators: ends its own transaction or none."""

    def __init__(self) -> None:
        super().__init__(using=DEFAULT_DB_ALIAS, savepoint=True, durable=False)

    def __enter__(self) -> None:
        self._connection = connections[DEFAULT_DB_ALIAS]
        self._thread = threading.get_ident()
        super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_innermost():
            super().__exit__(kind, error, traceback)
        elif self in self._connection.atomic_blocks:
            self._drop()

    def _is_innermost(self) -> bool:
        """Return whether this is the innermost transaction of this thread."""
        is_here = self._thread == threading.get_ident() and self._connection is connections[DEFAULT_DB_ALIAS]
        return is_here and self._connection.atomic_blocks[-1:] == [self]

    def _drop(self) -> None:
        """Close the connection, so that PostgreSQL rolls back and nothing is committed by mistake."""
        log.error(NOT_CLOSED)
        connection = self._connection
        if connection.connection is not None:
            connection.connection.close()
            # Returns it to its pool, if any; `close` works in its own thread only.
            connection._close()  # type: ignore[attr-defined]  # noqa: SLF001
        connection.connection = None
        connection.savepoint_ids, connection.atomic_blocks = [], []
        connection.in_atomic_block = connection.needs_rollback = False


def close(steps: object) -> None:
    """Close a generator or an iterator over one, so that its transaction ends now."""
    if hasattr(steps, "close"):
        steps.close()
