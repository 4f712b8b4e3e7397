"""Explain errors that the operator has to fix, in one line each."""

import errno

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, OperationalError, ProgrammingError
from django.db.migrations.exceptions import MigrationSchemaMissing
from psycopg.errors import InsufficientPrivilege, UndefinedColumn, UndefinedTable

from cognireview import environment
from cognireview.operations.disk_full import is_disk_full
from cognireview.operations.redacted_errors import describe
from cognireview.postgres import embedded

# Other errors, such as a missing file, may be bugs.
_ERRNOS = {
    *(errno.EROFS, errno.EIO, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE),
}
# I/O errors, missing files, broken pages and indexes.
_STATES_OF_DAMAGE = {"58030", "58P01", "58P02", "XX001", "XX002"}


def explain(error: Exception) -> str | None:
    """Return a sentence about an error that the operator has to fix, or None for a bug."""
    if isinstance(error, ImproperlyConfigured | embedded.CannotStart):
        return str(error)
    if is_disk_full(error):
        return f"The disk is full ({_first_line(error)}). Free some space, then try again."
    if isinstance(error, OSError):
        return _explain_file(error)
    return _explain_database(error) if isinstance(error, DatabaseError) else None


def _explain_file(error: OSError) -> str | None:
    if isinstance(error, PermissionError):
        return f"{error.filename} cannot be accessed: {error.strerror}"
    if error.errno in _ERRNOS:
        return f"{error.filename or 'A file'} cannot be used: {error.strerror}"
    return None


def _explain_database(error: DatabaseError) -> str | None:
    state = getattr(error.__cause__, "sqlstate", None)
    if state in _STATES_OF_DAMAGE:
        return f"The database is damaged ({_first_line(error)}). Restore a backup."
    if isinstance(error, OperationalError) and state is None:
        return f"The database cannot be reached: {str(error).splitlines()[0]}"
    if isinstance(error, MigrationSchemaMissing) or isinstance(error.__cause__, InsufficientPrivilege):
        reason = str(error.__cause__ or error.__context__).splitlines()[0]
        return f"The role in DATABASE_URL may not do this ({reason}). Use the owner of the tables."
    if isinstance(error, ProgrammingError) and isinstance(error.__cause__, UndefinedTable):
        return f"The database is not up to date. Run: {environment.PROGRAM} migrate"
    if isinstance(error, ProgrammingError) and isinstance(error.__cause__, UndefinedColumn):
        remedy = (
            f"Run: {environment.PROGRAM} migrate. If that changes nothing, use the version that created it."
        )
        return f"The database does not fit this version ({_first_line(error)}). {remedy}"
    return None


def _first_line(error: Exception) -> str:
    return describe(error).partition(": ")[2].splitlines()[0].rstrip(".")
