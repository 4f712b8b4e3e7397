"""`manage.py up`: see `cognireview.processes.supervisor`."""

from contextlib import suppress
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cognireview.processes import supervisor
from reviews.demo import first_start


class Command(BaseCommand):
    """Runs until Ctrl+C."""

    help = "Start everything: the database unless DATABASE_URL names one, the web server and the job worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=_port, default=8000, help="of the web server, on 127.0.0.1")
        parser.add_argument("--demo", action="store_true", help="bring in a run and people to try it with")

    def handle(self, *_: Any, port: int, demo: bool, **__: Any) -> None:
        try:
            greeting = partial(_greeting, demo=demo)
            supervisor.up(port=port, greeting=greeting, say=self._say, report=self._report)
        except supervisor.CannotRun as error:
            raise CommandError(str(error), returncode=error.status) from error

    def _say(self, line: str) -> None:
        with suppress(OSError):  # nobody reads it any more; the site is to go on
            self.stdout.write(line)
            self.stdout.flush()

    def _report(self, line: str) -> None:
        with suppress(OSError):
            self.stderr.write(f"cognireview: {line}")


def _greeting(url: str, *, demo: bool) -> list[str]:
    people = first_start.demonstrate() if demo else []
    return [*people, first_start.address(url)]


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise ValueError
    return port
