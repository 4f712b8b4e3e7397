"""Build exports in background jobs."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.accounts.permissions import check
from reviews.audit import events, reveals
from reviews.database.replica import retry_if_lost
from reviews.exports.jsonl import use_snapshot
from reviews.exports.output import FIGURES, ExportOptions, ExportOutput, export_options
from reviews.exports.stored_files import Kind, store_parts
from reviews.models import Export, ExportProgress, Import, SourceChunk, User
from reviews.storage.progress_connection import open_progress_connection

JOB = "reviews.tasks.build_export"
_REPORT = """
    UPDATE export_progress SET bytes_read = %(bytes)s WHERE export_id = %(export)s
    RETURNING cancelled_by_id
"""


class Cancelled(Exception):
    """Somebody has cancelled the export that is being built."""


def record_export(*, options: ExportOptions, actor: User | None, figures: dict[str, Any]) -> None:
    """Record the audit event of a complete file, with the figures of its `ExportOutput`."""
    events.record(
        "export",
        actor=actor,
        run=options.run,
        source=options.only_import,
        only=options.only,
        with_rejected=options.keeps_rejected,
        format=options.format,
        compression=options.compression,
        **figures,
    )


@transaction.atomic
def enqueue(*, options: ExportOptions, actor: User) -> Export:
    """Enqueue an export. Raises `InvalidExport`."""
    options.check()
    export = Export.objects.create(**vars(options), created_by=actor)
    ExportProgress.objects.create(export=export, bytes_to_read=_bytes_to_read(options))
    record_reveal(options, actor)
    events.record(
        "export asked for", actor=actor, run=options.run, source=options.only_import, export=export.pk
    )
    jobs.configure_task(JOB).defer(export_id=export.pk)
    return export


def record_reveal(options: ExportOptions, reader: User) -> None:
    """Record that the file shows its reader the judge's scores. Reviewed lines reveal nothing hidden."""
    if options.only == "all":
        reveals.record_download(run=options.run, reader=reader)


def _bytes_to_read(options: ExportOptions) -> int:
    chunks = SourceChunk.objects.filter(source__run=options.run, source__state=Import.State.DONE)
    if options.only_import:
        chunks = chunks.filter(source=options.only_import)
    return int(chunks.aggregate(size=Sum("size"))["size"] or 0)


def build(*, export_id: int, check_in: Callable[[], None] = lambda: None) -> None:
    """Build the file of an export completely or not at all. A repeated call changes nothing.

    `check_in` is called after each part. An exception from it cancels the build. An export that somebody has
    cancelled ends without a file.
    """
    try:
        retry_if_lost(lambda: _build(export_id, check_in))
    except Cancelled:
        _finish_cancelled(export_id)
    else:
        _finish(export_id)


def _build(export_id: int, check_in: Callable[[], None]) -> None:
    with transaction.atomic(), open_progress_connection() as progress:
        use_snapshot(read_only=False)
        # Keeps a second worker from building the same export. NO KEY: the progress row refers to this row
        # and must stay writable on the second connection.
        export = _locked(export_id)
        if export.state != Export.State.UNFINISHED or export.sha256:
            return
        with closing(ExportOutput(export_options(export))) as output:
            for _ in store_parts(export, Kind.FILE, output):
                row = progress.report(_REPORT, {"export": export_id, "bytes": output.tally.bytes_read})
                if row and row[0]:
                    raise Cancelled
                check_in()
        for _ in store_parts(export, Kind.RECEIPT, output.receipt(output.options.file_name)):
            check_in()
        for name, figure in output.figures.items():
            setattr(export, name, figure)
        export.save(update_fields=output.figures)


@transaction.atomic
def _finish(export_id: int) -> None:
    """Publish a built file. A transaction of its own: no event can be sealed in the snapshot of the build."""
    export = _locked(export_id)
    if export.state != Export.State.UNFINISHED or not export.sha256:
        return
    export.state, export.error, export.finished_at = Export.State.DONE, "", timezone.now()
    export.save(update_fields=["state", "error", "finished_at"])
    figures = {name: getattr(export, name) for name in FIGURES}
    record_export(
        options=export_options(export), actor=export.created_by, figures=figures | {"export": export.pk}
    )


def _locked(export_id: int) -> Export:
    locked = Export.objects.select_for_update(of=["self"], no_key=True)
    return locked.select_related("run", "only_import", "created_by").get(pk=export_id)


@transaction.atomic
def fail(*, export_id: int, error: str) -> None:
    export = _locked(export_id)
    if export.state == Export.State.UNFINISHED:
        export.state, export.error, export.finished_at = Export.State.FAILED, error, timezone.now()
        export.save(update_fields=["state", "error", "finished_at"])
        events.record("export failed", actor=export.created_by, run=export.run, export=export.pk, error=error)


@transaction.atomic
def cancel(*, export_id: int, actor: User) -> bool:
    """Cancel a waiting export, or ask its running job to stop. Return False for a finished export."""
    check(actor, "export_run")
    # A running job has locked the row. Skip it instead of waiting for the job to end.
    exports = Export.objects.select_related("run").filter(pk=export_id, state=Export.State.UNFINISHED)
    if waiting := exports.select_for_update(of=["self"], no_key=True, skip_locked=True).first():
        _cancel(waiting, actor)
        return True
    running = exports.first()
    if running is None:
        return False
    ExportProgress.objects.filter(export=running).update(cancelled_by=actor)
    events.record("cancel export", actor=actor, run=running.run, export=running.pk)
    return True


@transaction.atomic
def _finish_cancelled(export_id: int) -> None:
    export = _locked(export_id)
    if export.state == Export.State.UNFINISHED:
        _cancel(export, export.progress.cancelled_by)


def _cancel(export: Export, actor: User | None) -> None:
    """End a locked export without a file."""
    export.parts.all().delete()
    export.state, export.finished_at = Export.State.CANCELLED, timezone.now()
    export.save(update_fields=["state", "finished_at"])
    events.record("export cancelled", actor=actor, run=export.run, export=export.pk)


@transaction.atomic
def retry(*, export_id: int, actor: User) -> bool:
    """Build a failed export again. Return False for any other export."""
    export = _locked(export_id)
    if export.state != Export.State.FAILED:
        return False
    export.state, export.error, export.finished_at = Export.State.UNFINISHED, "", None
    export.dismissed_at = None
    export.save(update_fields=["state", "error", "finished_at", "dismissed_at"])
    ExportProgress.objects.filter(export=export).update(bytes_read=0, cancelled_by=None)
    events.record("export retried", actor=actor, run=export.run, export=export.pk)
    jobs.configure_task(JOB).defer(export_id=export.pk)
    return True


@transaction.atomic
def remove_expired() -> None:
    """Remove exports that were finished more than `KEEP_EXPORTS` ago. Their audit events stay."""
    expired = Export.objects.filter(finished_at__lt=timezone.now() - settings.KEEP_EXPORTS)
    for export in expired.select_for_update():
        events.record("export removed", actor=None, run=export.run, export=export.pk, sha256=export.sha256)
        export.delete()
