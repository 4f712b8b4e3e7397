import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandParser, OutputWrapper
from django.db import transaction

from reviews.imports.exception_groups import LineGroup, group_exceptions
from reviews.imports.importer import NothingImported, Progress, import_stream
from reviews.imports.recognition import PREVIEWED, PreviewRow, ToolRecognised, preview_row
from reviews.management.arguments import add_map, open_input, read_mapping, read_rubric
from reviews.management.errors import reason_of
from reviews.models import Evaluation, Import
from reviews.records.mapping import FieldMapping
from reviews.records.rubric import Rubric
from reviews.records.wording import counted
from reviews.storage import decompression
from reviews.storage.chunks import read_blocks
from reviews.storage.corruption import CorruptData
from reviews.storage.errors import ImportRefused

ACCEPTED, SOME_REJECTED, NOTHING_IMPORTED = 0, 1, 2
SHOWN_GROUPS = 20


class Command(BaseCommand):
    help = (
        "Import evaluation files into a run. Invalid lines are listed by number, field and reason. "
        "Exit status: 0 all lines accepted, 1 some rejected, 2 nothing imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="JSONL file, or - for standard input")
        parser.add_argument("--run", help="name of the run (default: the file's name without its extension)")
        parser.add_argument(
            "--dry-run", action="store_true", help="report what would happen, but change nothing"
        )
        parser.add_argument("--strict", action="store_true", help="import nothing if any line is invalid")
        add_map(parser, "mapping for a file of another tool (docs/mapping.md)")
        parser.add_argument(
            "--rubric", metavar="FILE", help="TOML file with the rubric of the run (docs/rubric.md)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object for each file")

    def handle(self, *args: Any, **options: Any) -> None:
        mapping, rubric = read_mapping(options["map"]), read_rubric(options["rubric"])
        statuses = [self._import(name, mapping, rubric, options) for name in options["files"]]
        if all(status == NOTHING_IMPORTED for status in statuses):
            sys.exit(NOTHING_IMPORTED)
        if any(statuses):
            sys.exit(SOME_REJECTED)

    def _import(
        self, name: str, mapping: FieldMapping | None, rubric: Rubric | None, options: dict[str, Any]
    ) -> int:
        rows: list[PreviewRow] = []
        try:
            with open_input(name) as file, _bar(name, file) as progress, transaction.atomic():
                done = import_stream(
                    blocks=read_blocks(file),
                    run_name=_run_name(name, options["run"]),
                    file_name=name,
                    actor=None,
                    strict=options["strict"],
                    mapping=mapping,
                    rubric=rubric,
                    progress=progress,
                )
                exceptions = done.listed_exceptions()
                groups = [] if options["json"] else group_exceptions(done, most=SHOWN_GROUPS)
                if options["dry_run"]:
                    rows = _preview(done) if mapping else []
                    exceptions = iter(list(exceptions))
                    transaction.set_rollback(True)
        except NothingImported as refusal:
            self.stderr.write(f"{name}: {refusal}")
            self._report(refusal.source, refusal.listed_exceptions(), refusal.groups, options, kept=False)
            return NOTHING_IMPORTED
        except ToolRecognised as refusal:
            self.stderr.write(f"{name}: {refusal} Nothing was imported. The first records:")
            self._print_preview(self.stderr, refusal.rows)
            self.stderr.write(f"To import the file, add --map {refusal.shipped.name}")
            return NOTHING_IMPORTED
        except (ImportRefused, CorruptData, OSError) as error:
            self.stderr.write(f"{name}: {reason_of(error)}")
            return NOTHING_IMPORTED
        self._report(done, exceptions, groups, options, kept=not options["dry_run"])
        if rows and not options["json"]:
            self.stdout.write("The first records:")
            self._print_preview(self.stdout, rows)
        return SOME_REJECTED if done.rejected else ACCEPTED

    def _print_preview(self, output: OutputWrapper, rows: list[PreviewRow]) -> None:
        for row in rows:
            output.write(f"  {row.record}")
            for label, value in row._asdict().items():
                if value and label != "record":
                    output.write(f"    {label}: {value}")

    def _report(
        self,
        done: Import,
        exceptions: Iterator[dict[str, Any]],
        groups: list[LineGroup],
        options: dict[str, Any],
        *,
        kept: bool,
    ) -> None:
        if options["json"]:
            head = {"run": done.target_name, "import": done.pk if kept else None, **done.counts}
            # Written one by one: a file may have millions of exceptions.
            self.stdout.write(json.dumps(head)[:-1] + ', "exceptions": [', ending="")
            for number, exception in enumerate(exceptions):
                self.stdout.write((", " if number else "") + json.dumps(exception), ending="")
            self.stdout.write("]}")
            return
        counts = ", ".join(
            f"{number:,} {outcome}" for outcome, number in done.counts.items() if outcome != "lines"
        )
        where = (
            f"run {done.target_name!r}, import {done.pk}"
            if kept
            else f"run {done.target_name!r}, nothing written"
        )
        self.stdout.write(f"{done.file_name}: {counted(done.lines, 'line')} ({where}): {counts}")
        for group in groups:
            field = f"{group.field} " if group.field else ""
            self.stdout.write(
                f"  {_lines(group)}: {group.outcome}: {field}{group.reason}{' (and similar)' * group.varies}"
            )
        if done.of_other_judge:
            self.stdout.write(
                "  To import another judge's file as a run of its own, use --run with a new name."
            )
        more = done.rejected + done.conflicts + done.updated - sum(group.size for group in groups)
        if more > 0:
            self.stdout.write(f"  and {more:,} more lines with other reasons (--json lists all)")


def _preview(done: Import) -> list[PreviewRow]:
    """Return the beginnings of the first records that an import changed or added."""
    records = Evaluation.objects.filter(source_import=done).order_by("source_line")[:PREVIEWED]
    return [preview_row(record) for record in records]


def _lines(group: LineGroup) -> str:
    """Return how many lines a group has, and the first line numbers."""
    numbers = ", ".join(map(str, group.examples))
    if group.size == 1:
        return f"line {numbers}"
    return f"{group.size:,} lines ({numbers}{', …' if group.more else ''})"


def _run_name(file_name: str, given: str | None) -> str:
    if given is not None:
        return given
    if file_name == "-":
        raise ImportRefused("Standard input has no name: use --run NAME.")
    return decompression.base_name(file_name)


@contextmanager
def _bar(name: str, file: BinaryIO) -> Iterator[Progress | None]:
    """Show a progress bar on standard error if it is a terminal, and remove it at the end of the file."""
    if not sys.stderr.isatty():
        yield None
        return
    # Takes 0.1 s, which scripts and cron jobs need not wait for.
    from rich import progress as rich_progress  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    status = os.fstat(file.fileno())
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    columns = (
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.DownloadColumn(),
        rich_progress.TextColumn("{task.fields[lines]:,} lines"),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(Path(name).name, total=size, lines=0)

        def report(done: int, counts: dict[str, int]) -> None:
            # Bytes read, because `done` counts decompressed bytes.
            bar.update(task, completed=done if size is None else file.tell(), lines=counts["lines"])

        yield report
