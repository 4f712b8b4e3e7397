"""Prove that no audit event was altered or removed, and that every decision is as the log has it."""

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier, Head

SHOWN = 100


class Command(BaseCommand):
    help = (
        "Check the hash chain of the audit events, compare every decision in the database with the events, "
        "and name each difference. Prints the head of the chain: kept elsewhere and given by --head, or in a "
        "log given by --heads, it shows that the chain was not rewritten and lost nothing at its end. Exit "
        "status 0 if all is as it was written, 1 if not, 2 if it cannot be checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--head",
            metavar="POSITION:HASH",
            type=_head,
            action="append",
            default=[],
            help="a head that was printed or published earlier; may be given several times",
        )
        parser.add_argument(
            "--heads", metavar="FILE", type=_heads, default=[], help="a log: every head in it is checked"
        )

    def handle(self, *args: Any, head: list[Head], heads: list[Head], **options: Any) -> None:
        kept = [*head, *heads]
        chain, count = ChainVerifier(*kept), 0
        for count, problem in enumerate(log.verify(chain), start=1):
            if count <= SHOWN:
                self.stderr.write(problem)
        self.stdout.write(f"{chain.head.position:,} events sealed, head {chain.head}")
        self.stdout.write(_end(kept))
        if count:
            self.stderr.write(f"Differences: {count:,}")
            sys.exit(1)


def _end(kept: list[Head]) -> str:
    heads = set(kept)
    if not heads:
        return (
            "End not checked: without a head that was kept elsewhere (--head, --heads), nothing shows "
            "whether events were cut off at the end or the whole chain was rewritten."
        )
    noun = "head" if len(heads) == 1 else "heads"
    return f"Checked against {len(heads):,} kept {noun}, the last at position {max(heads).position:,}"


def _head(text: str) -> Head:
    try:
        return Head.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _heads(name: str) -> list[Head]:
    try:
        found = Head.find_all(Path(name).read_text(errors="replace"))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=2) from error
    if not found:
        raise CommandError(f"{name}: holds no head", returncode=2)
    return found
