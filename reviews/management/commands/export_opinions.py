"""All opinions of a run, of the records that several people reviewed."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.exports import opinions
from reviews.management.output_files import write_anew_if_lost
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Write every opinion on records that several people reviewed as JSONL: who said what, and which of "
        "them stands in the export."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="NAME", help="name of the run")
        parser.add_argument(
            "-o", "--output", metavar="FILE", help="where to write (default: standard output)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run.objects.filter(name=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run named {options['run']!r}.", returncode=2)
        target = None if options["output"] in {None, "-"} else options["output"]
        write_anew_if_lost(target, lambda: opinions.opinion_lines(run))
