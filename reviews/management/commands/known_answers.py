import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews.accounts.permissions import can
from reviews.dashboard.known_answers import as_json
from reviews.management.arguments import find_person, find_run, whole_number
from reviews.management.columns import columns
from reviews.management.errors import command_errors
from reviews.models import KnownAnswerCheck, Run, User
from reviews.records.conflicts import Conflict
from reviews.records.wording import counted
from reviews.review import known_answers
from reviews.review.known_answer_rows import running_check
from reviews.rubric.run_settings import InvalidSettings


class Command(BaseCommand):
    """Prints a line per check and reviewer, the newest check first; with `--json` one JSON list."""

    help = (
        "Compare the reviewers of a run with the known answers of a lead. The lead gives the answers in the "
        "browser: the records wait in their inbox."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="name of the run")
        change = parser.add_mutually_exclusive_group()
        change.add_argument(
            "--start",
            type=whole_number(1, known_answers.MOST_RECORDS),
            metavar="COUNT",
            help="start a check with this many records",
        )
        change.add_argument(
            "--end", action="store_true", help="end the running check: the known answers become decisions"
        )
        parser.add_argument("--lead", metavar="NAME", help="username of the lead, with --start and --end")
        parser.add_argument("--json", action="store_true", help="print one JSON list")

    def handle(self, *_: Any, **options: Any) -> None:
        run = find_run(options["run"])
        if options["start"] or options["end"]:
            with command_errors(Conflict, InvalidSettings):
                self._change(run, _find_lead(run, options["lead"]), options["start"])
        checks = KnownAnswerCheck.objects.filter(run=run).select_related("run", "started_by").order_by("-pk")
        found = [as_json(one) for one in checks]
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        if not found:
            self.stderr.write("No checks. Start one with --start.")
        for line in columns(_TITLES, [row for one in found for row in _rows(one)], numbers={3, 5, 6}):
            self.stdout.write(line)

    def _change(self, run: Run, lead: User, count: int | None) -> None:
        if count:
            drawn = known_answers.start(run_id=run.pk, actor=lead, count=count).answers.count()
            records = counted(drawn, "record, which waits", "records, which wait")
            self.stderr.write(f"Drew {records} in the inbox of {lead.username}.")
            return
        running = running_check(run)
        if running is None:
            raise Conflict("No check is running.")
        ended = known_answers.end(check_id=running.pk, actor=lead)
        self.stderr.write(f"Decided {counted(ended.decided, 'record')}. {ended.waiting:,} stay in the queue.")


def _find_lead(run: Run, name: str | None) -> User:
    """Return the lead who acts. Raises `CommandError`."""
    if name is None:
        raise CommandError("Name the lead: --lead NAME.", returncode=2)
    lead = find_person(name)
    if not can(lead, "lead_review"):
        raise CommandError(f"{lead.username} needs the lead role.", returncode=2)
    if not run.is_visible_to(lead):
        raise CommandError(f"{lead.username} is no member of {run.name}.", returncode=2)
    return lead


_TITLES = ("Lead", "Started", "Ended", "Records", "Reviewer", "Answers", "Same verdict")


def _rows(check: dict[str, Any]) -> list[tuple[str, ...]]:
    started, ended = (at[:10] if at else "running" for at in (check["started_at"], check["ended_at"]))
    begin = (check["started_by"], started, ended, f"{check['records']:,}")
    rows: list[tuple[str, ...]] = [
        (*begin, one["reviewer"], f"{one['answers']:,}", f"{one['same_verdict']:,} of {one['verdicts']:,}")
        for one in check["reviewers"]
    ]
    return rows or [(*begin, "", "", "")]
