"""The mapping that a command is given as a file."""

from pathlib import Path

from django.core.management.base import CommandError

from reviews.records.mapping import Mapping, MappingError, read


def mapping_in(name: str | None) -> Mapping | None:
    """The mapping in the file of that name, if one is named. Raises `CommandError` with every problem."""
    if name is None:
        return None
    try:
        return read(Path(name).read_bytes())
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=2) from error
    except MappingError as error:
        raise CommandError(
            "\n".join(f"{name}: {place}: {reason}" for place, reason in error.problems), returncode=2
        ) from error
