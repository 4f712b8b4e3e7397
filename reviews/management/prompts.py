"""Ask for a password on the terminal."""

from getpass import getpass

from django.core.management.base import CommandError


def ask_password() -> str:
    """Ask for a new password twice. Raises `CommandError`."""
    try:
        password = getpass("Password: ")
        again = getpass("The same again: ")
    except EOFError:
        raise CommandError("No password was given. In a script, use --password-stdin.") from None
    if password != again:
        raise CommandError("The two passwords differ.")
    return password
