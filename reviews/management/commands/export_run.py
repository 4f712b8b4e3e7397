"""Export a run: as JSONL with the decisions in it, or as a table for analysis."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reviews.exports import formats, jsonl
from reviews.exports.jobs import ExportOptions, ExportOutput, InvalidExport, record_export
from reviews.management.output_files import is_file, write, write_anew_if_lost
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Export a run: lines as they came in, byte for byte; reviewed ones with their human_* values. "
        "With -o FILE, a receipt is written to FILE.receipt.json: verify_export checks it."
    )
    requires_system_checks = ()  # they load every view, a third of the time that this takes to start

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            help="where to write (default: standard output); compressed if its name ends in .gz or .zst",
        )
        parser.add_argument("--only", choices=jsonl.ONLY, default="all", help="which lines (default: all)")
        parser.add_argument(
            "--with-rejected", action="store_true", help="keep rejected lines in their places"
        )
        parser.add_argument(
            "--import",
            dest="only_import",
            metavar="N",
            type=int,
            help="the file of that import of the run, whatever other files brought",
        )
        parser.add_argument(
            "--format", choices=formats.ENDINGS, default="jsonl", help="(default: jsonl, which loses nothing)"
        )
        parser.add_argument("--receipt", metavar="FILE", help="where to write the receipt")

    def handle(self, *args: Any, **options: Any) -> None:
        order = _order(options)
        try:
            order.check()
        except InvalidExport as reason:
            raise CommandError(str(reason), returncode=2) from reason
        target = None if options["output"] in {None, "-"} else options["output"]
        receipt = options["receipt"] or _beside(target)
        output = write_anew_if_lost(target, lambda: ExportOutput(order))
        if receipt:
            write(receipt, output.receipt(Path(target).name if target else "-"))
        with transaction.atomic():
            record_export(order, None, output.figures)
        self.stderr.write(f"{output.size:,} bytes, SHA-256 {output.sha256}")


def _order(options: dict[str, Any]) -> ExportOptions:
    """What the options ask for. Raises `CommandError` for a run or an import that is not there."""
    run = Run.objects.filter(name=options["run"]).first()
    if run is None:
        raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
    number = options["only_import"]
    only_import = run.imports.filter(pk=number).first() if number is not None else None
    if number is not None and only_import is None:
        raise CommandError(f"Run {run.name!r} has no import {number}.", returncode=2)
    return ExportOptions(
        run,
        only=options["only"],
        with_rejected=options["with_rejected"],
        only_import=only_import,
        format=options["format"],
        compression=formats.compression_for_name(options["output"] or ""),
    )


def _beside(target: str | None) -> str | None:
    """Where the receipt of a file goes by itself; nowhere for what is none."""
    return f"{target}.receipt.json" if target and is_file(target) else None
