"""Prove that no audit event was altered, removed or slipped in."""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand

from reviews import ledger
from reviews.chain import Chain, Head

SHOWN = 100


class Command(BaseCommand):
    help = (
        "Check the chain of the audit events, and name each that was altered, removed or slipped in. Prints "
        "the head of the chain: kept elsewhere and given back by --head, it shows that the chain was not "
        "written anew and lost nothing at its end. Exit status 0 if it holds, 1 if not, 2 if it cannot be "
        "checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--head", metavar="POSITION:HASH", type=_head, help="a head that was printed earlier"
        )

    def handle(self, *args: Any, head: Head | None, **options: Any) -> None:
        chain, count = Chain(head), 0
        for count, problem in enumerate(ledger.verify(chain), start=1):
            if count <= SHOWN:
                self.stderr.write(problem)
        self.stdout.write(f"{chain.head.position:,} events sealed, head {chain.head}")
        if count:
            self.stderr.write(f"Events that are not as they were written: {count:,}")
            sys.exit(1)


def _head(text: str) -> Head:
    try:
        return Head.read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
