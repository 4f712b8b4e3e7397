"""`manage.py work`: see `cognireview.processes.job_worker`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from cognireview.processes import job_worker


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl+C."""

    help = "Do the jobs of the site: imports, exports and what keeps it in order."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--finish",
            type=int,
            default=20,
            metavar="SECONDS",
            help="for the jobs that run when it is stopped",
        )

    def handle(self, *_: Any, finish: int, **__: Any) -> None:
        job_worker.work(finish)
