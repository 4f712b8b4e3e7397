"""Recognise full-disk errors, and stop bulk writes while some space is left."""

import errno
import os
import shutil
from collections.abc import Iterator

import psycopg
from django.conf import settings

MESSAGE = "The server's disk is full. Nothing was saved: free some space on the server, then try again."
# PostgreSQL stops with a PANIC if it cannot extend its write-ahead log. Uploads and imports leave this space
# for the log and for reviewers' decisions.
RESERVE = 64 * 1024**2
_ERRNOS = {errno.ENOSPC, errno.EDQUOT}
_QUOTA = os.strerror(errno.EDQUOT)


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether the error or one of its causes reports a full disk or an exhausted quota."""
    return any(map(_is_disk_full, error_chain(error)))


def error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def check_space() -> None:
    """Raise `OSError` if the disk of the embedded PostgreSQL has less than `RESERVE` bytes left."""
    if settings.ENVIRONMENT.database_url:
        return
    if shutil.disk_usage(settings.DATA_DIR).free < RESERVE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(settings.DATA_DIR))


def _is_disk_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _ERRNOS
    # PostgreSQL has no error code for a quota.
    return isinstance(error, psycopg.errors.DiskFull) or (
        isinstance(error, psycopg.Error) and _QUOTA in (error.diag.message_primary or "")
    )
