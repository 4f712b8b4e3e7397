"""A transaction that a generator holds open while its consumer works.

A generator that nobody closes ends when it is collected: in any thread, at any moment. Django's `atomic`
would then roll back the transaction of that thread: half of an import, say, which then commits the rest.
"""

import logging
import threading
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.transaction import Atomic

NOT_CLOSED = "A generator was not closed: the connection that it left in a transaction is closed."
log = logging.getLogger(__name__)


class HeldTransaction(Atomic):
    """`transaction.atomic()` for generators. It ends its own transaction, or none."""

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
        """Whether this thread is in the transaction, and in no other inside of it."""
        is_here = self._thread == threading.get_ident() and self._connection is connections[DEFAULT_DB_ALIAS]
        return is_here and self._connection.atomic_blocks[-1:] == [self]

    def _drop(self) -> None:
        """Close the connection: PostgreSQL rolls back, and nothing can be committed by mistake."""
        log.error(NOT_CLOSED)
        connection = self._connection
        if connection.connection is not None:
            connection.connection.close()
            # Back to its pool, if any. `close` is for its own thread.
            connection._close()  # type: ignore[attr-defined]  # noqa: SLF001
        connection.connection = None
        connection.savepoint_ids, connection.atomic_blocks = [], []
        connection.in_atomic_block = connection.needs_rollback = False


def close(steps: object) -> None:
    """Close a generator, or what has one, so that its transaction ends here and now."""
    if hasattr(steps, "close"):
        steps.close()
