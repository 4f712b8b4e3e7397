from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.management.arguments import clean_name, find_run
from reviews.management.errors import command_errors
from reviews.models import Run
from reviews.records.conflicts import Conflict
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import delete_next_part, request_deletion


class Command(BaseCommand):
    help = (
        "Delete a run with its files, records and decisions. Only its audit events stay. Asks for the name "
        "as a confirmation. Exit status: 0 deleted, 2 not deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        parser.add_argument("--confirm", metavar="NAME", help="the name again, in a script")

    def handle(self, *args: Any, **options: Any) -> None:
        # A deletion that was interrupted continues.
        run = Run.objects.filter(name=clean_name(options["run"])).first() or find_run(options["run"])
        with command_errors(InvalidSettings, Conflict, prefix="Nothing was deleted. "):
            request_deletion(run_id=run.pk, actor=None, confirmation=_confirmation(run, options["confirm"]))
        while delete_next_part():
            pass
        if Run.objects.filter(pk=run.pk).exists():
            self.stdout.write(f"Run {run.name!r} is hidden. A worker deletes it after the running import.")
        else:
            self.stdout.write(f"Deleted run {run.name!r}.")


def _confirmation(run: Run, given: str | None) -> str:
    """Return the confirmation, or ask for it. Raises `CommandError`."""
    if given is not None:
        return given
    records = run.evaluations.count()
    try:
        return input(f"This deletes {records:,} records and their decisions. Type the name of the run: ")
    except EOFError:
        raise CommandError("Nothing was confirmed. In a script, use --confirm NAME.", returncode=2) from None
