from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from cognireview.processes import job_worker
from reviews.management.arguments import whole_number


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl+C."""

    help = "Run a job worker: imports, exports, webhooks and housekeeping."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--finish",
            type=whole_number(0, 86_400),
            default=20,
            metavar="SECONDS",
            help="time for running jobs to finish at shutdown (default: 20)",
        )
        parser.add_argument(
            "--heartbeat",
            type=Path,
            metavar="FILE",
            help="touch this file every 5 seconds, for probes that look for a worker that hangs",
        )

    def handle(self, *_: Any, finish: int, heartbeat: Path | None, **__: Any) -> None:
        job_worker.work(finish, heartbeat)
