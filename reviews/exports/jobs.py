"""Exports as people ask for them: checked, in any format, with a receipt, and kept for a while.

The CLI writes an `Output` to a file as it comes. The browser's are built by a job into frames in
the database: every web server can send what any worker built, from any byte on. Each frame has a checksum
over its bytes and its place, which is verified before a download begins and again as it goes out.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import zstandard
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.audit import events, reveals
from reviews.database.replica import retry_if_lost
from reviews.exports import formats, jsonl
from reviews.exports.receipt import END as END_OF_RECEIPT
from reviews.exports.receipt import ExportTally, FileDigest, ReceiptFilter, ReceiptOutput
from reviews.exports.signing import sign_receipt
from reviews.exports.stored_files import read_part, verify_parts
from reviews.imports.runs import run_mapping
from reviews.models import Export, ExportPart, ExportProgress, Import, Run, SourceChunk, User
from reviews.storage.corruption import CorruptData, export_fault
from reviews.storage.progress_connection import open_progress_connection
from reviews.storage.source_files import MeteredStream

JOB = "reviews.tasks.build_export"
PART_SIZE = 1024**2
Kind = ExportPart.Kind

_FIGURES = ("size", "sha256", "lines", "lines_changed", "lines_left_out")
_REPORT = "UPDATE export_progress SET bytes_read = %(bytes)s WHERE export_id = %(export)s"


class InvalidExport(Exception):
    """What is asked for is nothing an export can be; the message is a sentence that says why."""


@dataclass(frozen=True)
class ExportOptions:
    """What an export is to be: `format` and `compression` as in `formats`, the rest as `exporter.export`."""

    run: Run
    only: str = "all"
    with_rejected: bool = False
    only_import: Import | None = None
    format: str = "jsonl"
    compression: str = ""

    def check(self) -> None:
        """Raise `InvalidExport` for what does not go together."""
        if self.with_rejected and self.only != "all":
            raise InvalidExport("Rejected lines go out with all lines only: they have no review.")
        if self.with_rejected and self.format != "jsonl":
            raise InvalidExport("Rejected lines go out as JSONL only: they are no records.")
        if self.compression and self.format == "parquet":
            raise InvalidExport("Parquet is compressed in itself: leave gzip and zstd away.")
        if self.only_import and (
            self.only_import.run_id != self.run.pk or self.only_import.state != Import.State.DONE
        ):
            raise InvalidExport(f"Import {self.only_import.pk} brought nothing into run {self.run.name!r}.")
        try:
            formats.check_installed(self.format)
        except formats.PackageMissing as missing:
            raise InvalidExport(str(missing)) from missing

    @property
    def keeps_rejected(self) -> bool:
        """Whether rejected lines go out: in the file of one import they do, where the format can."""
        whole_file = self.only_import is not None and self.only == "all" and self.format == "jsonl"
        return self.with_rejected or whole_file

    @property
    def file_name(self) -> str:
        """A name for the file; it begins with the run's, which may hold anything printable."""
        parts = [self.run.name]
        if self.only_import:
            parts.append(f"import-{self.only_import.pk}")
        if self.only != "all":
            parts.append(self.only)
        ending = formats.ENDINGS[self.format] + formats.COMPRESSION_ENDINGS[self.compression]
        return "-".join(parts) + ending


class ExportOutput:
    """An export on its way: iterate over it for the bytes of the file; then it has a size and a receipt."""

    def __init__(self, order: ExportOptions) -> None:
        self.order = order
        self.tally = ExportTally()
        self._jsonl = jsonl.export_lines(
            order.run,
            only=order.only,
            with_rejected=order.keeps_rejected,
            only_import=order.only_import,
            tally=self.tally,
        )
        self._unpacked = MeteredStream(formats.convert(self._jsonl, order.format, run_mapping(order.run)))
        self._file = self._unpacked
        if order.compression:
            self._file = MeteredStream(formats.compress(self._unpacked, order.compression))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)

    def close(self) -> None:
        """End the export where it is. Call it in its thread, before its transaction or one around it ends."""
        self._jsonl.close()

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def sha256(self) -> str:
        return self._file.sha256

    def receipt(self, file_name: str) -> Iterator[bytes]:
        """Return the signed receipt of the whole file, in blocks of JSON."""
        order = self.order
        only_import = order.only_import.pk if order.only_import else None
        receipt = self.tally.receipt(
            run=order.run.name,
            created_at=timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            asked=ReceiptFilter(order.only, order.keeps_rejected, only_import),
            output=ReceiptOutput(
                name=file_name,
                format=order.format,
                compression=order.compression,
                size=self.size,
                sha256=self.sha256,
                unpacked=FileDigest(self._unpacked.size, self._unpacked.sha256),
                lines=self.tally.lines,
            ),
        )
        return sign_receipt(receipt)

    @property
    def figures(self) -> dict[str, Any]:
        """What is told of the whole file, by the columns of an `Export`."""
        tally = self.tally
        figures = (self.size, self.sha256, tally.lines, tally.lines_changed, tally.lines_left_out)
        return dict(zip(_FIGURES, figures, strict=True))


def record_export(order: ExportOptions, actor: User | None, figures: dict[str, Any]) -> None:
    """Leave the audit event of a whole file, with the figures of its `Output`."""
    events.record(
        "export",
        actor=actor,
        run=order.run,
        source=order.only_import,
        only=order.only,
        with_rejected=order.keeps_rejected,
        format=order.format,
        compression=order.compression,
        **figures,
    )


def stream_export(order: ExportOptions, actor: User) -> Iterator[bytes]:
    """Stream an export while it is built. Raises `InvalidExport` at once and `CorruptData` while it runs.

    The event of a whole file has its figures; one that breaks off leaves only that it was begun.
    """
    order.check()
    with transaction.atomic():
        _reveal(order, actor)
        events.record("export begun", actor=actor, run=order.run, only=order.only)
    return _told(order, actor)


def _told(order: ExportOptions, actor: User) -> Iterator[bytes]:
    with closing(ExportOutput(order)) as output:
        yield from output
    with transaction.atomic():
        record_export(order, actor, output.figures)


# Exports that are built by a job


@transaction.atomic
def enqueue(order: ExportOptions, actor: User) -> Export:
    """Enqueue the export. Raises `InvalidExport`."""
    order.check()
    export = Export.objects.create(
        run=order.run,
        only=order.only,
        with_rejected=order.with_rejected,
        only_import=order.only_import,
        format=order.format,
        compression=order.compression,
        created_by=actor,
    )
    ExportProgress.objects.create(export=export, bytes_to_read=_bytes_to_read(order))
    _reveal(order, actor)
    events.record("export asked for", actor=actor, run=order.run, source=order.only_import, export=export.pk)
    jobs.configure_task(JOB).defer(export_id=export.pk)
    return export


@transaction.atomic
def record_download(export: Export, reader: User) -> None:
    """Note that somebody gets a file that may be another's export."""
    if reader != export.created_by:
        _reveal(export_options(export), reader)


def _reveal(order: ExportOptions, reader: User) -> None:
    """Note who is shown the judge's scores by the file. Lines that are reviewed show nothing hidden."""
    if order.only == "all":
        reveals.record_download(order.run, reader)


def _bytes_to_read(order: ExportOptions) -> int:
    chunks = SourceChunk.objects.filter(source__run=order.run, source__state=Import.State.DONE)
    if order.only_import:
        chunks = chunks.filter(source=order.only_import)
    return int(chunks.aggregate(size=Sum("size"))["size"] or 0)


def export_options(export: Export) -> ExportOptions:
    return ExportOptions(
        run=export.run,
        only=export.only,
        with_rejected=export.with_rejected,
        only_import=export.only_import,
        format=export.format,
        compression=export.compression,
    )


def build(export_id: int, check_in: Callable[[], None] = lambda: None) -> None:
    """Build the file of an export: the work of the job. All of it or nothing, and twice is once.

    `check_in` is called after each part; what it raises ends the work and leaves nothing of it.
    """
    retry_if_lost(lambda: _build(export_id, check_in))
    _finish(export_id)


def _build(export_id: int, check_in: Callable[[], None]) -> None:
    with transaction.atomic(), open_progress_connection() as progress:
        _see_one_moment()
        # Another worker at the same export waits here. It must not keep the progress from being written,
        # whose row refers to this one: hence no_key.
        export = (
            Export.objects.select_for_update(of=["self"], no_key=True)
            .select_related("run", "only_import", "created_by")
            .get(pk=export_id)
        )
        if export.state != Export.State.UNFINISHED or export.sha256:
            return
        with closing(ExportOutput(export_options(export))) as output:
            for _ in _kept(export, Kind.FILE, output):
                progress.report(_REPORT, {"export": export_id, "bytes": output.tally.bytes_read})
                check_in()
        for _ in _kept(export, Kind.RECEIPT, output.receipt(output.order.file_name)):
            check_in()
        for name, figure in output.figures.items():
            setattr(export, name, figure)
        export.save(update_fields=output.figures)


@transaction.atomic
def _finish(export_id: int) -> None:
    """Let a file that is built be seen. What built it saw one moment, in which no event can be sealed."""
    export = Export.objects.select_for_update(of=["self"], no_key=True).get(pk=export_id)
    if export.state == Export.State.DONE or not export.sha256:
        return
    export.state, export.error, export.finished_at = Export.State.DONE, "", timezone.now()
    export.save(update_fields=["state", "error", "finished_at"])
    figures = {name: getattr(export, name) for name in _FIGURES}
    record_export(export_options(export), export.created_by, figures)


def _see_one_moment() -> None:
    """Let the export see one moment, though it writes (inside another transaction: as that has it)."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _kept(export: Export, kind: ExportPart.Kind, blocks: Iterable[bytes]) -> Iterator[ExportPart]:
    for number, part in enumerate(_parts(blocks)):
        frame = zstandard.compress(part)
        yield ExportPart.objects.create(export=export, kind=kind, number=number, frame=frame)


def _parts(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """A stream in parts of `PART_SIZE`, the last one smaller."""
    pending = bytearray()
    for block in blocks:
        pending += block
        while len(pending) >= PART_SIZE:
            yield bytes(pending[:PART_SIZE])
            del pending[:PART_SIZE]
    if pending:
        yield bytes(pending)


def fail(export_id: int, error: str) -> None:
    """Note that the job of an export gave up."""
    with transaction.atomic():
        export = Export.objects.select_for_update(of=["self"], no_key=True).get(pk=export_id)
        if export.state == Export.State.UNFINISHED:
            export.state, export.error, export.finished_at = Export.State.FAILED, error, timezone.now()
            export.save(update_fields=["state", "error", "finished_at"])
            events.record(
                "export failed", actor=export.created_by, run=export.run, export=export.pk, error=error
            )


def remove_expired() -> None:
    """Remove the exports that were finished `KEEP_EXPORTS` ago. What they were stays in the audit events."""
    with transaction.atomic():
        expired = Export.objects.filter(finished_at__lt=timezone.now() - settings.KEEP_EXPORTS)
        for export in expired.select_for_update():
            events.record(
                "export removed", actor=None, run=export.run, export=export.pk, sha256=export.sha256
            )
            export.delete()


def stored_range(export: Export, kind: ExportPart.Kind, first: int, last: int) -> Iterator[bytes]:
    """The bytes `first` to `last` (both counted in) of what is kept. Breaks off if it is removed.

    Raises `CorruptData` at once for a damaged part, and before the last block if the SHA-256 of the whole
    file is wrong.
    """
    first_part, last_part = first // PART_SIZE, last // PART_SIZE
    if last >= first:
        verify_parts(export, kind, first_part, last_part)
    if kind == Kind.FILE:
        _check_size(export)
    blocks = (
        read_part(export, kind, number)[max(first - number * PART_SIZE, 0) : last + 1 - number * PART_SIZE]
        for number in range(first_part, last_part + 1)
    )
    is_whole = kind == Kind.FILE and first == 0 and last == export.size - 1
    return _with_its_hash(export, blocks) if is_whole else blocks


def _with_its_hash(export: Export, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pass on the blocks of a whole file, the last one once the file is known to have its SHA-256."""
    meter, held_back = MeteredStream(blocks), b""
    for block in meter:
        if held_back:
            yield held_back
        held_back = block
    if meter.sha256 != export.sha256:
        raise CorruptData(export_fault(export, "the file does not have its SHA-256"))
    yield held_back


def stored_receipt(export: Export) -> Iterator[bytes]:
    """The receipt of a finished export in blocks of JSON. Raises `CorruptData` at once or as it goes out."""
    count = export.parts.filter(kind=Kind.RECEIPT).count()
    verify_parts(export, Kind.RECEIPT, 0, max(count - 1, 0))
    # The end itself may be cut in two.
    last = b"".join(read_part(export, Kind.RECEIPT, number) for number in range(count)[-2:])
    if not last.endswith(END_OF_RECEIPT):
        raise CorruptData(export_fault(export, "the end of its receipt is missing"))
    return (read_part(export, Kind.RECEIPT, number) for number in range(count))


def _check_size(export: Export) -> None:
    """Raise `CorruptData` unless the stored parts add up to the size of the file."""
    parts, last = export.parts.filter(kind=Kind.FILE), max(export.size - 1, 0) // PART_SIZE
    size = len(read_part(export, Kind.FILE, last)) if parts.exists() else 0
    if last * PART_SIZE + size != export.size or parts.filter(number__gt=last).exists():
        raise CorruptData(export_fault(export, f"the file does not have its {export.size:,} bytes"))
    if not export.size and export.sha256 != MeteredStream(()).sha256:
        raise CorruptData(export_fault(export, "the file does not have its SHA-256"))
