"""Arguments that several commands share, with passwords from the terminal."""

import argparse
import difflib
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from getpass import getpass
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError, CommandParser

from reviews.imports.shipped_mappings import BY_NAME
from reviews.management.errors import command_errors
from reviews.models import Run, User
from reviews.records.mapping import FieldMapping, MappingError, parse_mapping
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import RubricError, parse_rubric

# Names in an error about an unknown one.
_MOST_NAMES = 10
PORTS = (1, 65_535)


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
    """Return the run of that name. Raises `CommandError` with the names of runs."""
    runs = Run.objects.filter(deletion_requested_at=None)
    run = runs.filter(name=clean_name(name)).first()
    if run is None:
        raise not_found("run", name, runs.order_by("-created_at", "-pk").values_list("name", flat=True))
    return run


def find_person(name: str) -> User:
    """Return the person with that username, in any case. Raises `CommandError` with usernames."""
    person = User.objects.filter(username__iexact=clean_name(name)).first()
    if person is None:
        raise not_found("user", name, User.objects.order_by("username").values_list("username", flat=True))
    return person


def not_found(kind: str, name: str, known: Iterable[str]) -> CommandError:
    """Return the error about an unknown name. It lists the most similar names first, then the others."""
    names = list(known)
    if not names:
        return CommandError(f"No {kind} {name!r}. There are no {kind}s yet.", returncode=2)
    near = difflib.get_close_matches(name, names, n=3)
    shown = [*near, *(each for each in names if each not in near)][:_MOST_NAMES]
    listed = ", ".join(map(shlex.quote, shown))
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return CommandError(f"No {kind} {name!r}. {kind.capitalize()}s: {listed}{more}.", returncode=2)


def clean_name(name: str) -> str:
    """Return a name that PostgreSQL can look up. Arguments that are not UTF-8 contain surrogates."""
    return name.encode("utf-8", "replace").decode().replace("\0", "")


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number in a range."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}.")
        return int(text)

    return parse


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
    if not Path(name).exists():
        names = ", ".join(BY_NAME)
        raise CommandError(
            f"There is no file {name!r}, and no shipped mapping of that name: {names}.", returncode=2
        )
    with _problems_of(name, MappingError):
        return parse_mapping(Path(name).read_bytes())


def read_rubric(name: str | None) -> Rubric | None:
    """Return the rubric of a TOML file. Without a name, return None. Raises `CommandError`."""
    if name is None:
        return None
    with _problems_of(name, RubricError):
        return parse_rubric(Path(name).read_bytes())


@contextmanager
def _problems_of(name: str, kind: type[MappingError | RubricError]) -> Iterator[None]:
    """Raise the error of a file as `CommandError` with a line for each problem."""
    try:
        with command_errors(OSError):
            yield
    except kind as error:
        lines = [f"{name}: {place}: {reason}" for place, reason in error.problems]
        raise CommandError("\n".join(lines), returncode=2) from error


def add_password_stdin(parser: CommandParser) -> None:
    parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")


def read_password(*, stdin: bool) -> str:
    """Read a line of standard input, or ask twice on the terminal. Raises `CommandError`."""
    if stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if re.search("[\0\ud800-\udfff]", password):
            raise CommandError("The password is not UTF-8 text, so nobody could enter it in a browser.")
        return password
    if not sys.stdin.isatty():
        raise CommandError("Standard input is no terminal. In a script, use --password-stdin.")
    try:
        password = getpass("Password: ")
        again = getpass("Repeat the password: ")
    except EOFError:
        raise CommandError("No password was entered. In a script, use --password-stdin.") from None
    if password != again:
        raise CommandError("The passwords do not match.")
    return password
