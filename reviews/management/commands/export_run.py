"""Export a run as JSONL."""

import argparse
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reviews import audit, exporter
from reviews.models import Run
from reviews.source import Meter


class Command(BaseCommand):
    help = "Export a run: lines as they came in, byte for byte; reviewed ones with their human_* values."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        parser.add_argument(
            "-o", "--output", metavar="FILE", help="where to write (default: standard output)"
        )
        parser.add_argument("--only", choices=exporter.ONLY, default="all", help="which lines (default: all)")
        parser.add_argument(
            "--with-rejected", action="store_true", help="keep rejected lines in their places"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run.objects.filter(name=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
        if options["with_rejected"] and options["only"] != "all":
            raise CommandError(
                "--with-rejected goes with --only all: rejected lines have no review.", returncode=2
            )
        blocks = Meter(exporter.export(run, only=options["only"], with_rejected=options["with_rejected"]))
        try:
            with _target(options["output"]) as file:
                for block in blocks:
                    file.write(block)
        except OSError as error:
            raise CommandError(
                f"{options['output'] or 'standard output'}: {error.strerror}", returncode=2
            ) from error
        with transaction.atomic():
            audit.record(
                "export", actor=None, run=run, only=options["only"], sha256=blocks.sha256, size=blocks.size
            )
        self.stderr.write(f"{blocks.size:,} bytes, SHA-256 {blocks.sha256}")


@contextmanager
def _target(name: str | None) -> Iterator[BinaryIO]:
    """The file to write. A named one appears when it is whole, so that a broken export leaves none."""
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    if target.exists() and not target.is_file():
        with target.open("wb") as file:  # a pipe or a device, which a file must not replace
            yield file
        return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
