from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.exports import independent_reviews
from reviews.management.arguments import add_output, find_run
from reviews.management.output_files import write_with_retry


class Command(BaseCommand):
    help = (
        "Export all independent reviews of a run as JSONL. Each line names the reviewer and whether their "
        "review is the current decision."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        run = find_run(options["run"])
        write_with_retry(options["output"], lambda: independent_reviews.independent_review_lines(run))
