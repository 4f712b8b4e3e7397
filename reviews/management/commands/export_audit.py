from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.audit import listing, log
from reviews.management.arguments import add_output, clean_name, find_run
from reviews.management.output_files import write
from reviews.models import Run


class Command(BaseCommand):
    help = (
        "Export the audit log as JSONL. Each event has its position in the hash chain and its hashes; "
        "verify_export --audit-log reads the file without a database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--run",
            metavar="NAME",
            help="events of that run in full, also if it was deleted, and only the digests of all others",
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        run_id = _run_key(options["run"]) if options["run"] is not None else None
        write(options["output"], log.jsonl_lines(run_id))


def _run_key(name: str) -> int:
    """Return the key of the run of that name, or else of a deleted one. Raises `CommandError`."""
    run = Run.objects.filter(name=clean_name(name)).first()
    return (run.pk if run else listing.deleted_run(clean_name(name))) or find_run(name).pk
