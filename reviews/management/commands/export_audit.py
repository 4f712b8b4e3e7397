"""The audit log as a file: every audit event with its seal, to check without a database."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.audit import log
from reviews.management.output_files import write
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Write the audit events as JSONL, each with its place in the chain and its hashes. verify_export "
        "--audit-log reads it."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--run", metavar="NAME", help="the events of that run; of all others the digests alone"
        )
        parser.add_argument(
            "-o", "--output", metavar="FILE", help="where to write (default: standard output)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run.objects.filter(name=options["run"]).first()
        if options["run"] is not None and run is None:
            raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
        target = None if options["output"] in {None, "-"} else options["output"]
        write(target, log.jsonl_lines(run))
