import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier, Head
from reviews.management.errors import reason_of

SHOWN = 100


class Command(BaseCommand):
    help = (
        "Verify the audit log's hash chain, and compare every decision with the log. Prints the head of the "
        "chain. A head that was stored elsewhere and is passed with --head or --heads proves that the chain "
        "was not rewritten or cut off. Exit status: 0 no difference, 1 differences, 2 not checked."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--head",
            metavar="POSITION:HASH",
            type=_head,
            action="append",
            default=[],
            help="a head printed or published earlier; repeatable",
        )
        parser.add_argument(
            "--heads",
            metavar="FILE",
            type=_heads,
            default=[],
            help="a text file: every head in it is checked",
        )

    def handle(self, *args: Any, head: list[Head], heads: list[Head], **options: Any) -> None:
        kept = [*head, *heads]
        chain, count = ChainVerifier(*kept), 0
        for count, problem in enumerate(log.verify(chain), start=1):
            if count <= SHOWN:
                self.stderr.write(problem)
        self.stdout.write(f"{chain.head.position:,} events sealed, head {chain.head}")
        self.stdout.write(_end_note(set(kept)))
        if count:
            self.stderr.write(f"Differences: {count:,}")
            sys.exit(1)


def _end_note(heads: set[Head]) -> str:
    if not heads:
        return (
            "End not checked: only a head stored elsewhere (--head, --heads) shows whether events were cut "
            "off at the end or the whole chain was rewritten."
        )
    noun = "head" if len(heads) == 1 else "heads"
    return f"Checked against {len(heads):,} stored {noun}, the last at position {max(heads).position:,}"


def _head(text: str) -> Head:
    try:
        return Head.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _heads(name: str) -> list[Head]:
    try:
        found = Head.find_all(Path(name).read_text(errors="replace"))
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{name}: {reason_of(error)}") from error
    if not found:
        raise argparse.ArgumentTypeError(f"{name} contains no head.")
    return found
