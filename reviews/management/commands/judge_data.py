from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.exports import typed_tables
from reviews.judge import judge_data
from reviews.judge.judge_data import InvalidJudgeData, JudgeDataOptions
from reviews.management.arguments import add_output, find_run
from reviews.management.errors import command_errors
from reviews.management.output_files import write_with_retry


class Command(BaseCommand):
    help = (
        "Export the data behind the judge's metrics. The ratings have a line for each blind rating and each "
        "assisted decision. With --table population, the file has the numbers of records that they represent."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        add_output(parser)
        parser.add_argument("--table", choices=judge_data.TABLES, default="ratings", help="default: ratings")
        parser.add_argument("--format", choices=typed_tables.FORMATS, default="jsonl", help="default: jsonl")

    def handle(self, *args: Any, **options: Any) -> None:
        order = JudgeDataOptions(find_run(options["run"]), options["table"], options["format"])
        with command_errors(InvalidJudgeData):
            write_with_retry(
                options["output"], lambda: judge_data.export_judge_data(options=order, reader=None)
            )
