"""`manage.py judge_report RUN`."""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console

from reviews.judge import quality_gates, report
from reviews.judge.scope import JudgeScope
from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.management.report_tables import tables


class Command(BaseCommand):
    help = (
        "Report how accurate the judge of a run is. The report covers agreement with reviewers, flag "
        "precision, missed errors, corrected model rankings and causes. With --require, exit status 0 means "
        "that every requirement is met, 1 that one is violated, and 2 that there is not enough data, no such "
        "run or no report."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        parser.add_argument("--json", action="store_true", help="print one JSON object with every metric")
        parser.add_argument(
            "--require",
            metavar="'METRIC >= LIMIT'",
            action="append",
            default=[],
            help="instead of the tables, print whether the interval of a metric meets a limit: "
            "'blind flagged kappa of Clarity >= 0.6', 'miss_rate <= 0.05'; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with command_errors(quality_gates.InvalidRequirement):
            required = [quality_gates.parse_requirement(text) for text in options["require"]]
        run = find_run(options["run"])
        try:
            found = report.build_report(JudgeScope(run))
        except DatabaseError as error:
            # Not 1: that status means that a requirement is violated.
            raise CommandError(f"The report failed: {error}".strip(), returncode=2) from error
        checked = quality_gates.check_requirements(found, required)
        if options["json"]:
            document = quality_gates.as_json(found, checked)
            self.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False))
        elif required:
            self.stdout.write("\n".join(one.sentence for one in checked))
        else:
            console = Console(file=sys.stdout, highlight=False, markup=False)
            for part in tables(found):
                console.print(part)
        if status := quality_gates.worst_outcome(checked).status:
            sys.exit(status)
