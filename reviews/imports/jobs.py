"""The job of an import: how far it is, for whoever looks, and the wish that it may end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.audit import events
from reviews.imports.importer import JOB, Cancelled, Progress, lock_import
from reviews.models import Import, ImportProgress, User
from reviews.storage import integrity
from reviews.storage.progress_connection import open_progress_connection

_BEGIN = """
    WITH begun AS (UPDATE import SET state = 'running' WHERE id = %(import)s AND state = 'queued')
    UPDATE import_progress SET bytes_done = 0, counts = '{}', started_at = NULL, reported_at = NULL
    WHERE source_id = %(import)s
"""
_REPORT = """
    UPDATE import_progress
    SET bytes_done = %(bytes)s, counts = %(counts)s, started_at = coalesce(started_at, now()),
        reported_at = now()
    WHERE source_id = %(import)s
    RETURNING cancelled_by_id
"""


@contextmanager
def progress_reports(import_id: int) -> Iterator[Progress]:
    """A `Progress` for the import, written beside its transaction so that everybody sees it.

    It raises `Cancelled` once somebody has wished that.
    """
    with open_progress_connection() as progress:
        progress.execute(_BEGIN, {"import": import_id})

        def report(bytes_done: int, counts: dict[str, int]) -> None:
            values = {"import": import_id, "bytes": bytes_done, "counts": json.dumps(counts)}
            row = progress.report(_REPORT, values)
            if row and row[0]:
                raise Cancelled

        yield report


@transaction.atomic
def cancel_import(import_id: int, actor: User) -> None:
    """End an import that waits, or have its job end it at the next piece. One that is over stays as it is."""
    # The row is the job's while it runs; nobody waits for that here.
    free = Import.objects.select_for_update(of=["self"], no_key=True, skip_locked=True)
    waiting = free.select_related("run").filter(pk=import_id, state__in=Import.UNFINISHED).first()
    if waiting:
        _cancel(waiting, actor)
        return
    running = Import.objects.select_related("run").filter(pk=import_id, state__in=Import.UNFINISHED).first()
    if running:
        ImportProgress.objects.filter(source=running).update(cancelled_by=actor)
        events.record("cancel import", actor=actor, run=running.run, source=running)


def can_retry(source: Import) -> bool:
    """Return whether the job of an import gave up on a file that is kept, and found no fault in its lines."""
    return source.state == Import.State.FAILED and not source.rejected and hasattr(source, "progress")


@transaction.atomic
def retry_import(import_id: int, actor: User) -> None:
    """Enqueue an import again whose job failed. Other imports stay as they are."""
    failed = lock_import(import_id)
    if not can_retry(failed):
        return
    failed.state, failed.error, failed.finished_at = Import.State.QUEUED, "", None
    failed.save(update_fields=["state", "error", "finished_at"])
    failed_progress = {"bytes_done": 0, "counts": {}, "started_at": None, "reported_at": None}
    ImportProgress.objects.filter(source=failed).update(**failed_progress, cancelled_by=None)
    events.record("import retried", actor=actor, run=failed.run, source=failed)
    jobs.configure_task(JOB).defer(import_id=failed.pk)


def finish_cancelled(import_id: int) -> None:
    """Note that the job has ended an import as it was wished. The kept file stays, and nothing else of it."""
    with transaction.atomic():
        upload = lock_import(import_id)
        if upload.state in Import.UNFINISHED:
            _cancel(upload, upload.progress.cancelled_by)


def _cancel(upload: Import, actor: User | None) -> None:
    upload.state, upload.finished_at = Import.State.CANCELLED, timezone.now()
    upload.save(update_fields=["state", "finished_at"])
    integrity.record_result(upload)
    events.record("import cancelled", actor=actor, run=upload.run, source=upload)
