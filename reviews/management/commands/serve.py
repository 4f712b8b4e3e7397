"""`manage.py serve`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from cognireview.processes import web_server
from reviews.management.arguments import PORTS, whole_number


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl+C."""

    help = "Run the web server, behind a proxy with TLS."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=whole_number(*PORTS), default=8000, help="default: 8000")
        parser.add_argument(
            "--finish",
            type=whole_number(0, 86_400),
            default=10,
            metavar="SECONDS",
            help="time for open requests to finish at shutdown (default: 10)",
        )

    def handle(self, *_: Any, host: str, port: int, finish: int, **__: Any) -> None:
        # This process needs no connections; its children open their own.
        connections.close_all()
        web_server.serve(
            host=host,
            port=port,
            settings=settings.ENVIRONMENT,
            drain_seconds=settings.ENVIRONMENT.drain_seconds,
            finish_seconds=finish,
        )
