"""Read a new password from the terminal or from standard input."""

import re
import sys
from getpass import getpass

from django.core.management.base import CommandError, CommandParser


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
