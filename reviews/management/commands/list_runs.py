import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from cognireview.types.encoding import members
from cognireview.types.runs import RunDetails
from reviews.management.columns import columns
from reviews.models import Run
from reviews.queue.progress import all_progress


class Command(BaseCommand):
    help = "List the runs with their records and progress, newest first. Archived runs only with --archived."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--archived", action="store_true", help="list archived runs, too")
        parser.add_argument("--json", action="store_true", help="print one JSON list")

    def handle(self, *args: Any, archived: bool, **options: Any) -> None:
        runs = Run.objects.filter(deletion_requested_at=None)
        found = all_progress(runs if archived else runs.filter(archived_at=None))
        if options["json"]:
            rows = [members(RunDetails, run, **progress._asdict()) for run, progress in found]
            self.stdout.write(json.dumps(rows, ensure_ascii=False))
            return
        table = [
            (
                run.name,
                f"{progress.total:,}",
                f"{progress.left:,}",
                f"{progress.done:,}",
                f"{run.created_at:%Y-%m-%d}",
                "archived" if run.archived_at else "",
            )
            for run, progress in found
        ]
        if not table:
            self.stderr.write("No runs. Import a file with import_run.")
        for line in columns(("Run", "Records", "Left", "Done", "Created", ""), table, numbers={1, 2, 3}):
            self.stdout.write(line)
