from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.accounts import people
from reviews.accounts.permissions import ROLES
from reviews.management.arguments import add_password_stdin, read_password
from reviews.management.errors import command_errors


class Command(BaseCommand):
    help = "Create an account. Asks for the password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="username, which is recorded with every decision")
        parser.add_argument("--role", required=True, choices=list(ROLES))
        add_password_stdin(parser)

    def handle(self, *_: Any, name: str, role: str, password_stdin: bool, **__: Any) -> None:
        password = read_password(stdin=password_stdin)
        with command_errors(people.AccountError, status=1):
            user = people.add_user(username=name, password=password, role=role, actor=None)
        self.stdout.write(f"{user.username} can sign in as {role}.")
