from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import ImportUnderWay, rename_run


class Command(BaseCommand):
    help = "Rename a run. Addresses of pages stay; addresses of the API contain the name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        parser.add_argument("name", metavar="NEW_NAME", help="its new name")

    def handle(self, *args: Any, **options: Any) -> None:
        with command_errors(InvalidSettings, ImportUnderWay):
            run = rename_run(run_id=find_run(options["run"]).pk, actor=None, name=options["name"])
        self.stdout.write(f"Renamed run {options['run']!r} to {run.name!r}.")
