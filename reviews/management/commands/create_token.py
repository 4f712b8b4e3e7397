from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.accounts import api_tokens
from reviews.management.arguments import find_person, whole_number
from reviews.management.errors import command_errors


class Command(BaseCommand):
    """Prints only the token to standard output, so that a script can store it."""

    help = "Create an API token that acts as a user. Prints the token once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="username")
        parser.add_argument("--scope", required=True, help=f"one or more of {','.join(api_tokens.SCOPES)}")
        parser.add_argument("--for", default="", metavar="TEXT", help="what the token is for")
        parser.add_argument(
            "--days",
            type=whole_number(1, api_tokens.MAX_DAYS),
            default=api_tokens.DEFAULT_DAYS,
            help=f"days until it expires (default: {api_tokens.DEFAULT_DAYS}, at most {api_tokens.MAX_DAYS})",
        )

    def handle(self, *_: Any, name: str, scope: str, days: int, **options: Any) -> None:
        person = find_person(name)
        with command_errors(api_tokens.TokenError, status=1):
            made = api_tokens.create(
                person=person, scopes=scope.split(","), days=days, name=options["for"], actor=None
            )
        self.stdout.write(made.text)
        until = f"{made.token.expires_at:%Y-%m-%d}"
        self.stderr.write(f"The token acts as {person.username} until {until}. It is not shown again.")
