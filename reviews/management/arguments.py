"""Arguments that several commands share: a run's name, an output file, a mapping file."""

import argparse
from pathlib import Path

from django.core.management.base import CommandError

from reviews.models import Run
from reviews.records.mapping import FieldMapping, MappingError, parse_mapping


def add_output(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add `-o FILE`. Standard output gives the value None."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=lambda name: None if name == "-" else name,
        help=f"output file (default: standard output){more}",
    )


def find_run(name: str) -> Run:
    """Return the run of that name. Raises `CommandError`."""
    run = Run.objects.filter(name=name).first()
    if run is None:
        raise CommandError(f"There is no run named {name!r}.", returncode=2)
    return run


def read_mapping(name: str | None) -> FieldMapping | None:
    """Read the mapping file, if there is one. Raises `CommandError` with a line for each problem."""
    if name is None:
        return None
    try:
        return parse_mapping(Path(name).read_bytes())
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=2) from error
    except MappingError as error:
        lines = [f"{name}: {place}: {reason}" for place, reason in error.problems]
        raise CommandError("\n".join(lines), returncode=2) from error
