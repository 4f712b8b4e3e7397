"""`manage.py restore FILE`: see `cognireview.operations.backup`."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cognireview.operations import backup


class Command(BaseCommand):
    help = (
        "Bring back a database from a file that backup wrote: all of it, or nothing: then the exit "
        "status is 2."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="what backup wrote")
        parser.add_argument("--replace", action="store_true", help="give up all that the database holds now")

    def handle(self, *args: Any, file: Path, replace: bool, **options: Any) -> None:
        try:
            backup.restore(file, replace=replace)
        except backup.BackupError as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"Restored: {', '.join(backup.contents()) or 'a database that held nothing'}")
