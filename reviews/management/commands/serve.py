"""`manage.py serve`: see `cognireview.processes.web_server`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from cognireview.processes import web_server


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl+C."""

    help = "Run the web server, for a proxy with TLS in front of it."
    # They load every page, which each process of the web server does for itself.
    requires_system_checks = []  # noqa: RUF012 (as Django has it)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--finish",
            type=int,
            default=10,
            metavar="SECONDS",
            help="for requests that have begun when it stops",
        )

    def handle(self, *_: Any, host: str, port: int, finish: int, **__: Any) -> None:
        # Of this process alone: those it starts have their own.
        connections.close_all()
        web_server.serve(
            host=host,
            port=port,
            settings=settings.ENVIRONMENT,
            drain_seconds=settings.ENVIRONMENT.drain_seconds,
            finish_seconds=finish,
        )
