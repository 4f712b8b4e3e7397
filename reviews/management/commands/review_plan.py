import json
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.judge import planning, review_plan
from reviews.judge.planning import AIMS, PLAN_FILTERS, USUAL_TARGET
from reviews.management.arguments import find_run
from reviews.management.errors import command_errors
from reviews.management.judge_filters import add_filters
from reviews.management.report_tables import plan_parts
from reviews.management.text_tables import print_parts
from reviews.rubric.run_settings import InvalidSettings


class Command(BaseCommand):
    help = (
        "Plan the blind reviews that narrow the interval of the judge's accuracy to a target. With --serve, "
        "the queue gives out first what the plan needs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        parser.add_argument(
            "--target",
            type=float,
            metavar="POINTS",
            default=USUAL_TARGET * 100,
            help="half the width of the 95%% interval, in percentage points (default: %(default)g)",
        )
        parser.add_argument(
            "--aim",
            default="run",
            metavar="|".join(AIMS),
            help="run: the accuracy over all records (default); parts: on flagged and on unflagged records",
        )
        add_filters(parser, PLAN_FILTERS, "plan only records")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--serve", action="store_true", help="serve the plan, all reviews blind")
        change.add_argument("--stop", action="store_true", help="stop serving a plan")

    def handle(self, *_: Any, **options: Any) -> None:
        run = find_run(options["run"])
        target, aim = options["target"] / 100, options["aim"]
        with command_errors(InvalidSettings):
            wanted = review_plan.check_request(target, aim)
            values = {name: options[name] for name in PLAN_FILTERS}
            scope = review_plan.read_filters(run, values)
            if options["serve"]:
                found = review_plan.serve_plan(
                    run_id=run.pk, actor=None, target=target, aim=aim, filters=values
                )
                run.refresh_from_db()
            else:
                if options["stop"]:
                    run = review_plan.stop_plan(run_id=run.pk, actor=None)
                found = planning.plan_reviews(replace(scope, run=run), target, wanted)
        if options["json"]:
            document = found.as_json() | {"served": planning.served_plan(run)}
            self.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False))
        else:
            print_parts(plan_parts(found))
