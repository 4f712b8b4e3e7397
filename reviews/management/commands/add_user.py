"""`manage.py add_user NAME --role ROLE`: see `people.add_user`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.accounts import people
from reviews.accounts.permissions import ROLES
from reviews.management.prompts import ask_password


class Command(BaseCommand):
    """Asks for the password twice, or reads it from standard input."""

    help = "Add a person who may log in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name to log in with, kept in the records they review")
        parser.add_argument("--role", required=True, choices=list(ROLES))
        parser.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )

    def handle(self, *_: Any, name: str, role: str, password_stdin: bool, **__: Any) -> None:
        password = sys.stdin.readline().rstrip("\r\n") if password_stdin else ask_password()
        try:
            user = people.add_user(username=name, password=password, role=role, actor=None)
        except people.AccountError as error:
            raise CommandError(error.reason) from error
        self.stdout.write(f"{user.username} can log in as {role}.")
