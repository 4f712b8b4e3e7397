"""Arguments that several commands share: a run's name, an output file, a mapping or a rubric."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError

from reviews.imports.shipped_mappings import BY_NAME
from reviews.management.errors import command_errors
from reviews.models import Run
from reviews.records.mapping import FieldMapping, MappingError, parse_mapping
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import RubricError, parse_rubric


def add_output(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add `-o FILE`. Standard output gives the value None."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=lambda name: None if name == "-" else name,
        help=f"output file (default: standard output){more}",
    )


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """Open the named file, or standard input for `-`."""
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


def find_run(name: str) -> Run:
    """Return the run of that name. Raises `CommandError`."""
    run = Run.objects.filter(name=name, deletion_requested_at=None).first()
    if run is None:
        raise CommandError(f"There is no run named {name!r}.", returncode=2)
    return run


def add_map(parser: argparse.ArgumentParser, help_text: str, *, required: bool = False) -> None:
    """Add `--map`, for `read_mapping`."""
    names = ", ".join(BY_NAME)
    help_text = f"{help_text}: a TOML file, or one of {names}"
    parser.add_argument("--map", metavar="MAPPING", required=required, help=help_text)


def read_mapping(name: str | None) -> FieldMapping | None:
    """Return the shipped mapping of that name, or read the file. Without a name, return None.

    Raises `CommandError` with a line for each problem.
    """
    if name is None:
        return None
    if name in BY_NAME:
        return BY_NAME[name].read()
    try:
        with command_errors(OSError):
            return parse_mapping(_existing(name).read_bytes())
    except MappingError as error:
        lines = [f"{name}: {place}: {reason}" for place, reason in error.problems]
        raise CommandError("\n".join(lines), returncode=2) from error


def read_rubric(name: str | None) -> Rubric | None:
    """Return the rubric of a TOML file. Without a name, return None. Raises `CommandError`."""
    if name is None:
        return None
    try:
        with command_errors(OSError):
            return parse_rubric(Path(name).read_bytes())
    except RubricError as error:
        lines = [f"{name}: {place}: {reason}" for place, reason in error.problems]
        raise CommandError("\n".join(lines), returncode=2) from error


def _existing(name: str) -> Path:
    """Return the path of a mapping file. Raises `CommandError` with the shipped names for a missing file."""
    if not Path(name).exists():
        names = ", ".join(BY_NAME)
        raise CommandError(
            f"There is no file {name!r}, and no shipped mapping of that name: {names}.", returncode=2
        )
    return Path(name)
