"""`manage.py backup FILE`."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from cognireview.operations import backup
from reviews.management.errors import command_errors


class Command(BaseCommand):
    help = (
        "Write the whole database to one file. People can go on working. The file does not contain the "
        "secret key."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="output file; - is standard output")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        with command_errors(backup.BackupError):
            size = backup.back_up(None if str(file) == "-" else file)
        self.stderr.write(f"{file}: {size:,} bytes. Keep the secret key as well: it is not in the backup.")
