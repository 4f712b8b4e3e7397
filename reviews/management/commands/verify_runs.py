"""Verify stored files, records and exports of runs."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.maintenance import verify_run
from reviews.maintenance.verify_run import VerificationCounts
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Check what is kept of runs (all of them, or those named): every frame of every imported file against"
        " its checksum, sums and counts, each record against its line, and finished exports. Prints a line"
        " for each fault, with what to do. Exit status: 0 no fault, 1 faults, 2 nothing was checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="*", metavar="NAME", help="name of a run (default: all runs)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        checked, faults = VerificationCounts(), []
        for run in _named(options["runs"]):
            for fault in verify_run.verify_run(run, checked):
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


def _named(names: list[str]) -> list[Run]:
    """The runs of these names, or all. Raises `CommandError`."""
    runs = Run.objects.order_by("pk")
    if not names:
        return list(runs)
    found = {run.name: run for run in runs.filter(name__in=names)}
    for name in names:
        if name not in found:
            raise CommandError(f"There is no run named {name!r}.", returncode=2)
    return [found[name] for name in names]
