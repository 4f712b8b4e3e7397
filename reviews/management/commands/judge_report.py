"""How far the judge of a run can be trusted: the report, as tables of text or as JSON."""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from reviews import report
from reviews.judging import Scope
from reviews.management.report_tables import tables
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Report how far the judge of a run can be trusted: against humans, by reasons, what the flags miss, "
        "the models corrected, and why it was wrong. Exit status 2 if there is no such run."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        parser.add_argument("--json", action="store_true", help="print one JSON object with every figure")

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run.objects.filter(name=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
        found = report.of(Scope(run))
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False, allow_nan=False))
            return
        console = Console(file=sys.stdout, highlight=False, markup=False)
        for part in tables(found):
            console.print(part)
