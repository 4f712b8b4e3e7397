"""Report errors of the program as the errors of a command: one sentence and an exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError


@contextmanager
def command_errors(*kinds: type[Exception], status: int = 2, prefix: str = "") -> Iterator[None]:
    """Raise these errors as `CommandError` with that exit status. An `OSError` names its file."""
    try:
        yield
    except kinds as error:
        file = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        raise CommandError(f"{prefix}{file}{reason_of(error)}".strip(), returncode=status) from error


def reason_of(error: Exception) -> str:
    """Return the message of an error; of an `OSError` without its number and file."""
    return f"{error.strerror}." if isinstance(error, OSError) and error.strerror else str(error)
