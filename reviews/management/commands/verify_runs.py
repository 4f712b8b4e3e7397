import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.maintenance import verify_run
from reviews.maintenance.verify_run import VerificationCounts
from reviews.management.arguments import find_run
from reviews.models import Run
from reviews.storage.corruption import Fault


class Command(BaseCommand):
    help = (
        "Verify the stored files, records and exports of runs. Checks every frame of every imported file "
        "against its checksum, totals and counts, each record against its line, and finished exports. Prints "
        "each fault with its remedy. Exit status: 0 no fault, 1 faults, 2 nothing was checked."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="*", metavar="NAME", help="name of a run (default: all runs)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        checked, faults = VerificationCounts(), []
        for fault in _faults(options["runs"], checked):
            faults.append(asdict(fault))
            if not options["json"]:
                self.stderr.write(str(fault))
        if options["json"]:
            self.stdout.write(json.dumps(asdict(checked) | {"faults": faults}))
        else:
            parts = ", ".join(f"{count:,} {name}" for name, count in asdict(checked).items())
            self.stdout.write(f"Checked {parts}. Faults: {len(faults):,}.")
        if faults:
            sys.exit(1)


def _faults(names: list[str], checked: VerificationCounts) -> Iterator[Fault]:
    """Yield the faults of the named runs, or of all runs and of the imports without a run."""
    kept = Run.objects.filter(deletion_requested_at=None).order_by("pk")
    for run in [find_run(name) for name in names] or list(kept):
        yield from verify_run.verify_run(run, checked)
    if not names:
        yield from verify_run.verify_imports_without_run(checked)
