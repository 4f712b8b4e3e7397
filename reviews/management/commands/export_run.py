from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from reviews.exports import formats, jsonl
from reviews.exports.documents import InvalidExport, imported_format
from reviews.exports.jobs import record_export
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.management.arguments import add_output, find_run
from reviews.management.errors import command_errors
from reviews.management.output_files import is_file, write, write_with_retry


class Command(BaseCommand):
    help = (
        "Export a run with its decisions, as it was imported (JSONL or a JSON document) or as a table. Lines "
        "without a decision are the imported bytes; lines with one differ in their human_* values only. With "
        "-o FILE, a receipt for verify_export is written to FILE.receipt.json."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        add_output(parser, "; compressed if its name ends in .gz or .zst")
        parser.add_argument("--only", choices=jsonl.ONLY, default="all", help="which lines (default: all)")
        parser.add_argument(
            "--with-rejected", action="store_true", help="include rejected lines at their original positions"
        )
        parser.add_argument(
            "--import",
            dest="only_import",
            metavar="N",
            type=int,
            help="export only the file of import N of the run",
        )
        parser.add_argument(
            "--format",
            choices=formats.ENDINGS,
            help="default: as imported: json for a JSON document, zip for an archive, otherwise jsonl",
        )
        parser.add_argument("--receipt", metavar="FILE", help="where to write the receipt")

    def handle(self, *args: Any, **options: Any) -> None:
        order = _order(options)
        with command_errors(InvalidExport):
            order.check()
        target = options["output"]
        receipt = options["receipt"]
        if not receipt and target and is_file(target):  # output to a pipe has none by default
            receipt = f"{target}.receipt.json"
        output = write_with_retry(target, lambda: ExportOutput(order))
        if receipt:
            write(receipt, output.receipt(Path(target).name if target else "-"))
        with transaction.atomic():
            record_export(options=order, actor=None, figures=output.figures)
        self.stderr.write(f"{output.size:,} bytes, SHA-256 {output.sha256}")


def _order(options: dict[str, Any]) -> ExportOptions:
    """Return the export that the options describe. Raises `CommandError` for an unknown run or import."""
    run = find_run(options["run"])
    number = options["only_import"]
    only_import = run.imports.filter(pk=number).first() if number is not None else None
    if number is not None and only_import is None:
        known = ", ".join(str(pk) for pk in run.imports.order_by("pk").values_list("pk", flat=True)[:20])
        raise CommandError(f"Run {run.name!r} has no import {number}. Imports: {known}.", returncode=2)
    return ExportOptions(
        run,
        only=options["only"],
        with_rejected=options["with_rejected"],
        only_import=only_import,
        format=options["format"] or imported_format(run, only_import, options["only"]),
        compression=formats.compression_for_name(options["output"] or ""),
    )
