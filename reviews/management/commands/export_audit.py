"""`manage.py export_audit`."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from reviews.audit import log
from reviews.management.arguments import add_output, find_run
from reviews.management.output_files import write


class Command(BaseCommand):
    help = (
        "Export the audit log as JSONL. Each event has its position in the hash chain and its hashes; "
        "verify_export --audit-log reads the file without a database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--run", metavar="NAME", help="events of that run in full, and only the digests of all others"
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        run = find_run(options["run"]) if options["run"] is not None else None
        write(options["output"], log.jsonl_lines(run))
