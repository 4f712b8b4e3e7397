from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError

from cognireview.operations import backup
from cognireview.operations.redacted_errors import describe
from reviews.maintenance.backups import record_backup
from reviews.management.errors import command_errors


class Command(BaseCommand):
    help = (
        "Write the whole database to one file. People can go on working. The file does not contain the "
        "secret key."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="output file; - is standard output")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        with command_errors(backup.BackupError):
            size = backup.back_up(None if str(file) == "-" else file)
        try:
            record_backup(target=str(file) if str(file) == "-" else str(file.absolute()), size=size)
        except DatabaseError as error:  # a standby, for example: the backup is complete anyway
            self.stderr.write(f"The backup is not recorded: {describe(error)}")
        self.stderr.write(f"{file}: {size:,} bytes. Keep the secret key as well: it is not in the backup.")
