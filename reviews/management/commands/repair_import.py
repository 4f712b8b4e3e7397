from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.maintenance.repair import repair_import
from reviews.models import Import
from reviews.storage.chunks import read_blocks
from reviews.storage.corruption import CorruptData
from reviews.storage.errors import ImportRefused


class Command(BaseCommand):
    help = (
        "Replace the damaged stored file of an import with the original file. Use it when verify_runs or an "
        "export reports damage. Any other file is refused. Exit status: 0 repaired, 2 nothing changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", metavar="IMPORT", type=int, help="number of the import")
        parser.add_argument("file", metavar="FILE", help="the file that was imported")

    def handle(self, *args: Any, number: int, file: str, **options: Any) -> None:
        try:
            with Path(file).open("rb") as original:
                repaired = repair_import(import_id=number, blocks=read_blocks(original))
        except Import.DoesNotExist as error:
            raise CommandError(f"There is no import {number}.", returncode=2) from error
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}", returncode=2) from error
        except (ImportRefused, CorruptData) as error:
            raise CommandError(f"{file}: {error}", returncode=2) from error
        self.stdout.write(f"Import {number} of run {repaired.target_name!r} is repaired.")
