"""`manage.py changepassword NAME`: see `people.set_password`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from reviews.accounts import people
from reviews.audit import events
from reviews.management.prompts import ask_password
from reviews.models import User


class Command(BaseCommand):
    """Takes the place of Django's command of this name, which leaves tokens alone and no audit event."""

    help = "Set somebody's password. Their sessions and API tokens end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="whose password it is")
        parser.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )

    @transaction.atomic
    def handle(self, *_: Any, name: str, password_stdin: bool, **__: Any) -> None:
        person = User.objects.filter(username__iexact=name).first()
        if person is None:
            raise CommandError(f"There is nobody called {name!r}.")
        if not person.has_usable_password():
            raise CommandError(f"{person.username} logs in with another provider, which keeps the password.")
        password = sys.stdin.readline().rstrip("\r\n") if password_stdin else ask_password()
        try:
            revoked = people.set_password(person=person, password=password, actor=None)
        except people.AccountError as refused:
            raise CommandError(refused.reason) from refused
        events.record("password set by command", actor=None, username=person.username, tokens=revoked)
        self.stdout.write(
            f"{person.username} has a new password. Their sessions have ended; API tokens revoked: {revoked}."
        )
