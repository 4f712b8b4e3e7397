from argparse import ArgumentTypeError
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from cognireview.processes import listening, web_server
from reviews.management.arguments import PORTS, whole_number


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl+C."""

    help = "Run the web server, behind a proxy with TLS."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host",
            type=_address,
            default="127.0.0.1",
            help="IP address to listen on; 0.0.0.0 for all (default: 127.0.0.1)",
        )
        parser.add_argument("--port", type=whole_number(*PORTS), default=8000, help="default: 8000")
        parser.add_argument(
            "--finish",
            type=whole_number(0, 86_400),
            default=10,
            metavar="SECONDS",
            help="time for open requests to finish at shutdown (default: 10)",
        )

    def handle(self, *_: Any, host: str, port: int, finish: int, **__: Any) -> None:
        try:
            listening.check_free(host, port)
        except OSError as error:
            sentence = f"{host}:{port} cannot be used: {error.strerror}. Choose another --host or --port."
            raise CommandError(sentence, returncode=2) from error
        # This process needs no connections; its children open their own.
        connections.close_all()
        web_server.serve(
            host=host,
            port=port,
            settings=settings.ENVIRONMENT,
            drain_seconds=settings.ENVIRONMENT.drain_seconds,
            finish_seconds=finish,
        )


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        sentence = f"{text!r} is not an IP address, like 127.0.0.1, or 0.0.0.0 for all addresses."
        raise ArgumentTypeError(sentence) from None
