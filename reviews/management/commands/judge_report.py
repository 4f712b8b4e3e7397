import json
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rich.console import RenderableType

from cognireview.types import judge
from cognireview.types.encoding import encode
from reviews.judge import quality_gates, report
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.comparison.history import History, accuracy_over_runs
from reviews.judge.comparison.paired import compare_runs
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.report_csv import report_csv
from reviews.judge.scope import SCOPE_FILTERS, JudgeScope, read_scope
from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.management.judge_filters import add_filters, require_valid
from reviews.management.report_tables import comparison_parts, drift_parts, history_parts, report_parts
from reviews.management.text_tables import print_parts
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Report how accurate the judge of a run is. The report covers agreement with reviewers, flag "
        "precision, missed errors, corrected model rankings and causes. With --require, exit status 0 means "
        "that every requirement is met, 1 that the judge is shown to be worse than one, and 2 that neither "
        "is shown yet, or that there is no such run or no report."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        parser.add_argument("--json", action="store_true", help="print one JSON object with every metric")
        parser.add_argument("--csv", action="store_true", help="print a CSV table with every metric")
        parser.add_argument(
            "--require",
            metavar="'METRIC >= LIMIT'",
            action="append",
            default=[],
            help="instead of the tables, print whether a metric is shown to meet a limit: 'accuracy >= 0.8', "
            "'flagged kappa of Clarity >= 0.6', 'miss_rate <= 0.05'; repeatable",
        )
        add_filters(parser, SCOPE_FILTERS, "count only ratings")
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            "--compare",
            metavar="RUN",
            help="instead of the report, compare the judge with that of an earlier run on the same responses",
        )
        instead.add_argument(
            "--drift",
            metavar="RUN",
            help="instead of the report, measure how the judge shifted since an earlier run on the same "
            "responses, and compare the models of the two runs without that shift",
        )
        instead.add_argument(
            "--history",
            action="store_true",
            help="instead of the report, print the accuracy over runs that have two of judge, prompt "
            "and criteria in common",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with command_errors(quality_gates.InvalidRequirement):
            required = [quality_gates.parse_requirement(text) for text in options["require"]]
        run = find_run(options["run"])
        if chosen := next((name for name in _INSTEAD if options[name]), ""):
            self._print_instead(chosen, run, options)
            return
        scope = require_valid(read_scope(run, {name: options[name] for name in SCOPE_FILTERS}))
        with _failures():
            found = report.build_report(scope)
        checked = quality_gates.check_requirements(found, required)
        if options["json"]:
            document = quality_gates.as_json(found, checked)
            self.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False))
        elif options["csv"]:
            sys.stdout.write(b"".join(report_csv(found.as_json())).decode())
        elif required:
            self.stdout.write("\n".join(one.sentence for one in checked))
        else:
            print_parts(report_parts(found))
        if status := quality_gates.worst_outcome(checked).status:
            sys.exit(status)

    def _print_instead(self, name: str, run: Run, options: dict[str, Any]) -> None:
        if options["require"] or options["csv"]:
            raise CommandError(f"--{name} cannot be combined with --require or --csv.", returncode=2)
        others = [] if options[name] is True else [find_run(options[name])]
        if run in others:
            raise CommandError(f"--{name}: name a run other than the compared one.", returncode=2)
        values = {each: options[each] for each in SCOPE_FILTERS}
        read = read_shared_filters(others[0], run, values) if others else read_scope(run, values)
        scope = require_valid(read)
        kind, measure, parts = _INSTEAD[name]
        with _failures():
            found = measure(*others, scope)
        if options["json"]:
            self.stdout.write(json.dumps(encode(kind, found), ensure_ascii=False, allow_nan=False))
        else:
            print_parts(parts(found, scope, *others))


# Status 2: 1 means that the judge is shown to be worse.
_failures = partial(command_errors, DatabaseError, prefix="The report failed: ")


def _over_all_runs(scope: JudgeScope) -> History:
    return accuracy_over_runs(scope, Run.objects.filter(deletion_requested_at=None))


# Option -> the type of the document, the function that measures, and the one that prints.
_INSTEAD: dict[str, tuple[type, Callable[..., Any], Callable[..., Iterable[RenderableType]]]] = {
    "compare": (judge.Comparison, compare_runs, comparison_parts),
    "drift": (judge.Drift, measure_drift, drift_parts),
    "history": (judge.History, _over_all_runs, history_parts),
}
