from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.runs.changes import ImportUnderWay, archive_run, unarchive_run


class Command(BaseCommand):
    help = "Archive runs: they leave the list of runs and become read-only. With --undo, unarchive them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="NAME", help="name of a run")
        parser.add_argument("--undo", action="store_true", help="unarchive the runs")

    def handle(self, *args: Any, **options: Any) -> None:
        for run in [find_run(name) for name in options["runs"]]:
            if options["undo"]:
                unarchive_run(run_id=run.pk, actor=None)
                self.stdout.write(f"Run {run.name!r} is not archived.")
                continue
            with command_errors(ImportUnderWay, prefix=f"{run.name}: "):
                archive_run(run_id=run.pk, actor=None)
            self.stdout.write(f"Run {run.name!r} is archived.")
