"""Read a new password from the terminal or from standard input."""

import sys
from getpass import getpass

from django.core.management.base import CommandError, CommandParser


def add_password_stdin(parser: CommandParser) -> None:
    parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")


def read_password(*, stdin: bool) -> str:
    """Read a line of standard input, or ask twice on the terminal. Raises `CommandError`."""
    if stdin:
        return sys.stdin.readline().rstrip("\r\n")
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
