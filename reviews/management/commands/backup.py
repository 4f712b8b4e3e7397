"""`manage.py backup FILE`."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cognireview.operations import backup


class Command(BaseCommand):
    help = (
        "Write the whole database to one file. People can go on working. The file does not contain the "
        "secret key."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="output file; - is standard output")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            size = backup.back_up(None if str(file) == "-" else file)
        except backup.BackupError as error:
            raise CommandError(str(error), returncode=2) from error
        self.stderr.write(f"{file}: {size:,} bytes. Keep the secret key as well: it is not in the backup.")
