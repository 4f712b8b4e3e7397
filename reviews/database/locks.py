"""Advisory locks of PostgreSQL, held until the transaction ends, and deadlocks."""

from enum import StrEnum

from psycopg.errors import DeadlockDetected

from reviews.database.statements import execute, fetch_value


class Lock(StrEnum):
    """Work that must not run twice at once."""

    #: Two imports at once could add the same evaluation_id, and the later one would fail as a whole.
    #: Sample draws wait for imports, because a draw counts the records of a run.
    IMPORT = "cognireview.import"
    #: Two files could bring the same tasks in another order, and deadlock.
    TASK_CONTEXT = "cognireview.task_context"
    #: Two uploads that begin at once could both be counted as the last one allowed.
    UPLOADS = "cognireview.uploads"
    #: Two concurrent changes could take names that differ in case only, add two first admins, or demote both
    #: of two admins.
    ACCOUNTS = "cognireview.accounts"
    #: Two jobs that delete the same run would wait for each other's rows.
    DELETION = "cognireview.deletion"
    #: Two imports that index the same records could deadlock.
    INDEXING = "cognireview.indexing"
    #: Two requests at once would verify the audit log twice.
    CHAIN_CHECK = "cognireview.chain_check"


class RunLock(StrEnum):
    """Work on one run that must not run at once with other work on it."""

    #: A review saved during a change of the rubric would keep a verdict by the earlier one. Reviews share it.
    RUBRIC = "cognireview.rubric"


def acquire(lock: Lock) -> None:
    """Wait for the lock, and hold it until the current transaction ends."""
    execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [lock])


def acquire_for_run(lock: RunLock, run_id: int, *, is_shared: bool = False) -> None:
    """Wait for the lock of a run, and hold it until the current transaction ends.

    Transactions that share it do not wait for each other.
    """
    function = "pg_advisory_xact_lock_shared" if is_shared else "pg_advisory_xact_lock"
    execute(f"SELECT {function}(hashtextextended(%s, 0))", [f"{lock} {run_id}"])


def try_acquire(lock: Lock) -> bool:
    """Acquire the lock if it is free. Return whether the current transaction now holds it."""
    return _try("SELECT pg_try_advisory_xact_lock(hashtext(%s))", lock)


def try_acquire_text(text: str) -> bool:
    """Acquire the lock of any text if it is free, as `try_acquire` does for the locks that `Lock` lists."""
    return _try("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", text)


def _try(statement: str, text: str) -> bool:
    return bool(fetch_value(statement, [text]))


DEADLOCK = "Somebody changed the same records at the same moment. Nothing was saved: try again."


def is_deadlock(error: BaseException) -> bool:
    """Return whether PostgreSQL ended the transaction, because it and another one waited for each other."""
    return isinstance(error.__cause__, DeadlockDetected)
