import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.imports.task_context import import_context
from reviews.management.arguments import open_input
from reviews.management.errors import reason_of
from reviews.models import ContextImport
from reviews.records.wording import counted
from reviews.storage.chunks import read_blocks
from reviews.storage.errors import ImportRefused

ACCEPTED, SOME_REJECTED, NOTHING_IMPORTED = 0, 1, 2
SHOWN = 20


class Command(BaseCommand):
    help = (
        "Import task context: prompts, reference answers and model responses. The file is a JSON array or "
        "JSONL, plain or compressed. Invalid entries are listed by position, field and reason. "
        "Exit status: 0 all entries accepted, 1 some rejected, 2 nothing imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="JSON or JSONL file, or - for standard input")
        parser.add_argument("--run", help="name of the run (default: every run without a context of its own)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["file"]
        try:
            with open_input(name) as file:
                done = import_context(
                    blocks=read_blocks(file), file_name=name, run_name=options["run"], actor=None
                )
        except (ImportRefused, OSError) as error:
            self.stderr.write(f"{name}: {reason_of(error)}")
            sys.exit(NOTHING_IMPORTED)
        if options["json"]:
            self.stdout.write(json.dumps(done.report))
        else:
            self._print_text(done)
        if done.rejected_count:
            sys.exit(SOME_REJECTED)

    def _print_text(self, done: ContextImport) -> None:
        where = f"run {done.run.name!r}" if done.run else "every run"
        new = f"{counted(done.tasks, 'task')}, {counted(done.answers, 'answer')}"
        counts = f"{new}, {done.rejected_count:,} rejected"
        self.stdout.write(f"{done.file_name} (for {where}): {counts}")
        for entry in done.rejected[:SHOWN]:
            name = f"{entry['field']} " if entry["field"] else ""
            self.stdout.write(f"  entry {entry['place']}: {name}{entry['reason']}")
        more = done.rejected_count - SHOWN
        if more > 0:
            self.stdout.write(f"  and {more:,} more (--json lists the first thousand)")
