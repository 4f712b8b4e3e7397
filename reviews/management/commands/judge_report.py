"""How far the judge of a run can be trusted: the report, as tables of text or as JSON."""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console

from reviews.judge import quality_gates, report
from reviews.judge.agreement import Scope
from reviews.management.report_tables import tables
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Report how far the judge of a run can be trusted: against humans, by reasons, what the flags miss, "
        "the models corrected, and why it was wrong. With --require: exit status 1 if a bar is shown to be "
        "missed, else 2 if of one it cannot be told, else 0. 2 also if there is no such run or no report."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        parser.add_argument("--json", action="store_true", help="print one JSON object with every figure")
        parser.add_argument(
            "--require",
            metavar="'FIGURE >= BAR'",
            action="append",
            default=[],
            help="print in a line whether the interval of a figure keeps to a bar, instead of the tables: "
            "'blind flagged kappa of Clarity >= 0.6', 'escapes rate <= 0.05'; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            required = [quality_gates.parse(text) for text in options["require"]]
        except quality_gates.NotUnderstood as error:
            raise CommandError(str(error), returncode=2) from error
        run = Run.objects.filter(name=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
        try:
            found = report.of(Scope(run))
        except DatabaseError as error:
            # Not 1, which says that a bar is shown to be missed.
            raise CommandError(f"There is no report: {error}".strip(), returncode=2) from error
        checked = quality_gates.check(found, required)
        if options["json"]:
            told = quality_gates.as_json(found, checked)
            self.stdout.write(json.dumps(told, ensure_ascii=False, allow_nan=False))
        elif required:
            self.stdout.write("\n".join(one.sentence for one in checked))
        else:
            _print(found)
        if status := quality_gates.worst(checked).status:
            sys.exit(status)


def _print(found: report.Report) -> None:
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for part in tables(found):
        console.print(part)
