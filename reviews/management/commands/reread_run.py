import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cognireview.types.files import Reread
from reviews.management.arguments import add_map, find_run, read_mapping
from reviews.runs.reread import RereadRefused, reread_run
from reviews.storage.corruption import CorruptData
from reviews.storage.errors import ImportRefused


class Command(BaseCommand):
    help = (
        "Read the stored files of a run without decisions again, with another mapping. All records are "
        "replaced. Claims, drafts and assignments stay with their lines. Nothing changes if an accepted line "
        "would be rejected. Exit status: 0 done, 2 refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        add_map(parser, "mapping to read the lines with", required=True)
        parser.add_argument("--dry-run", action="store_true", help="only report the result")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        run, mapping = find_run(options["run"]), read_mapping(options["map"])
        assert mapping
        try:
            report = reread_run(run_id=run.pk, mapping=mapping, actor=None, is_trial=options["dry_run"])
        except RereadRefused as refused:
            lines = [str(refused), *(f"  {problem}" for problem in refused.problems)]
            raise CommandError("\n".join(lines), returncode=2) from refused
        except (ImportRefused, CorruptData) as refused:
            raise CommandError(str(refused), returncode=2) from refused
        if options["json"]:
            self.stdout.write(json.dumps({"run": run.name, **asdict(report)}))
        else:
            self._print(run.name, report, is_trial=options["dry_run"])

    def _print(self, name: str, report: Reread, *, is_trial: bool) -> None:
        note = ", nothing written" if is_trial else ""
        self.stdout.write(
            f"Run {name!r}{note}: {report.records:,} records, {report.new_records:,} of them new, "
            f"{report.new_ids:,} with another evaluation_id; {report.claims:,} claims continue"
        )
