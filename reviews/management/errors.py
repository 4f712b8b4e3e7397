"""Report errors of the program as the errors of a command: one sentence and an exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError


@contextmanager
def command_errors(*kinds: type[Exception], status: int = 2) -> Iterator[None]:
    """Raise these errors as `CommandError` with that exit status. An `OSError` names its file."""
    try:
        yield
    except kinds as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise CommandError(said, returncode=status) from error
