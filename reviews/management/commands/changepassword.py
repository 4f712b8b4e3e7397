from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from reviews.accounts import people
from reviews.audit import events
from reviews.management.arguments import add_password_stdin, find_person, read_password
from reviews.management.errors import command_errors


class Command(BaseCommand):
    """Replaces Django's command of this name, which revokes no tokens and records no audit event."""

    help = "Set a user's password. Ends their sessions and revokes their API tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="username")
        add_password_stdin(parser)

    @transaction.atomic
    def handle(self, *_: Any, name: str, password_stdin: bool, **__: Any) -> None:
        person = find_person(name)
        if not person.has_usable_password():
            raise CommandError(f"{person.username} signs in with another provider and has no password here.")
        with command_errors(people.AccountError, status=1):
            password = read_password(stdin=password_stdin)
            revoked = people.set_password(person=person, password=password, actor=None)
        events.record("password set by command", actor=None, username=person.username, tokens=revoked)
        self.stdout.write(
            f"{person.username} has a new password. Their sessions have ended; API tokens revoked: {revoked}."
        )
