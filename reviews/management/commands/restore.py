from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from cognireview.operations import backup
from reviews.maintenance.restored_messages import hold_back_messages
from reviews.management.errors import command_errors
from reviews.records.wording import counted


class Command(BaseCommand):
    help = "Restore the database from a backup. Either all of it is restored, or nothing (exit status 2)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="file written by backup")
        parser.add_argument(
            "--replace", action="store_true", help="delete the present contents of the database"
        )

    def handle(self, *args: Any, file: Path, replace: bool, **options: Any) -> None:
        with command_errors(backup.BackupError):
            backup.restore(file, replace=replace)
        held = hold_back_messages()
        self.stdout.write(f"Restored: {', '.join(backup.contents()) or 'an empty database'}")
        if any(held):
            parts = (
                counted(held.messages, "message to a webhook", "messages to webhooks"),
                counted(held.notifications, "notification"),
            )
            self.stdout.write(f"Not sent: {' and '.join(parts)} that waited in the backup. See the inbox.")
