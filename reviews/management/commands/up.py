from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cognireview.processes import up
from reviews.demo import first_start
from reviews.management.arguments import PORTS, whole_number


class Command(BaseCommand):
    """Runs until Ctrl+C."""

    help = (
        "Start everything: database, web server and job worker. If DATABASE_URL is set, that database is "
        "used and none is started."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port",
            type=whole_number(*PORTS),
            default=8000,
            help="port of the web server on 127.0.0.1 (default: 8000)",
        )
        parser.add_argument("--demo", action="store_true", help="add three runs and an account for each role")

    def handle(self, *_: Any, port: int, demo: bool, **__: Any) -> None:
        def greeting(url: str) -> list[str]:
            return [*(first_start.create_demo() if demo else []), first_start.start_message(url)]

        try:
            up.up(port=port, greeting=greeting, report=self._report)
        except up.CannotRun as error:
            raise CommandError(str(error), returncode=error.status) from error

    def _report(self, line: str) -> None:
        with suppress(OSError):
            self.stderr.write(f"cognireview: {line}")
