"""`manage.py backup FILE`: see `cognireview.operations.backup`."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cognireview.operations import backup


class Command(BaseCommand):
    help = (
        "Write the whole database to one file, as it is at this moment, while people work. The secret key is "
        "not in it."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="where to write; - is standard output")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            size = backup.back_up(None if str(file) == "-" else file)
        except backup.BackupError as error:
            raise CommandError(str(error), returncode=2) from error
        self.stderr.write(f"{file}: {size:,} bytes. The secret key is not in it: keep that, too.")
