"""Prove that an export is its original plus human decisions."""

import argparse
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from reviews.verification import compare


class Command(BaseCommand):
    help = "Compare an export with its original. Exit status 1 if anything but human_* values differs."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("original", metavar="ORIGINAL")
        parser.add_argument("exported", metavar="EXPORTED")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with (
                Path(options["original"]).open("rb") as original,
                Path(options["exported"]).open("rb") as exported,
            ):
                result = compare(original, exported, settings.LIMITS)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}", returncode=2) from error
        keys = f": {', '.join(result.changed_keys)}" if result.changed else ""
        left_out = f"; {result.left_out:,} left out (no records)" if result.left_out else ""
        self.stdout.write(f"{result.identical:,} identical, {result.changed:,} changed{keys}{left_out}")
        for problem in result.problems:
            self.stderr.write(problem)
        if not result.holds:
            self.stderr.write(f"Differences that are no human decision: {result.problem_count:,}")
            sys.exit(1)
