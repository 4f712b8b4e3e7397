from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.queue.members import configure_members, current_members
from reviews.rubric.run_settings import InvalidSettings


class Command(BaseCommand):
    """Prints the members to standard output, one username per line; nothing for an open run."""

    help = "Show who may see a run, restrict it to members, or open it to everybody."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="name of the run")
        change = parser.add_mutually_exclusive_group()
        change.add_argument(
            "--set",
            nargs="*",
            metavar="NAME",
            dest="members",
            help="restrict the run to these usernames; admins always have access",
        )
        change.add_argument("--everybody", action="store_true", help="open the run to everybody")

    def handle(self, *_: Any, run: str, members: list[str] | None, everybody: bool, **__: Any) -> None:
        found = find_run(run)
        if everybody or members is not None:
            with command_errors(InvalidSettings):
                found = configure_members(run_id=found.pk, actor=None, members=members)
        names = current_members(found)
        for name in names or ():
            self.stdout.write(name)
        if names is None:
            self.stderr.write(f"{found.name} is open to everybody.")
        else:
            people = "1 member" if len(names) == 1 else f"{len(names)} members"
            self.stderr.write(f"{found.name} is open to {people} and all admins.")
