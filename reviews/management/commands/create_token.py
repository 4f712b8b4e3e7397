"""`manage.py create_token NAME --scope import,export,review,read [--days N]`: see `tokens.make`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.accounts import api_tokens
from reviews.models import User


class Command(BaseCommand):
    """Prints the token alone to standard output, so that a script can keep it."""

    help = "Make a token by which a program acts as a person over the API. It is printed once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="whom the program acts as")
        parser.add_argument("--scope", required=True, help=f"one or more of {','.join(api_tokens.SCOPES)}")
        parser.add_argument(
            "--days",
            type=int,
            default=api_tokens.DEFAULT_DAYS,
            help=f"days until it expires (default: {api_tokens.DEFAULT_DAYS}, at most {api_tokens.MAX_DAYS})",
        )

    def handle(self, *_: Any, name: str, scope: str, days: int, **__: Any) -> None:
        try:
            person = User.objects.get(username=name)
            made = api_tokens.create(person=person, scopes=scope.split(","), days=days, actor=None)
        except User.DoesNotExist:
            raise CommandError(f"There is nobody called {name!r}.") from None
        except api_tokens.TokenError as refused:
            raise CommandError(refused.reason) from refused
        self.stdout.write(made.text)
        until = f"{made.token.expires_at:%Y-%m-%d}"
        self.stderr.write(f"It acts as {person.username} until {until} and is not shown again.")
