"""The life cycle of a queued import: enqueue, run, cancel, retry and fail."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from cognireview.operations.disk_full import check_space
from reviews.audit import events
from reviews.imports import importer
from reviews.imports.bulk_insert import insert_import_lines
from reviews.imports.importer import Cancelled, NothingImported, Progress
from reviews.imports.rejection_limit import TooManyRejections, require_first_record, up_to_first_record
from reviews.imports.runs import find_run, get_or_create_run
from reviews.imports.upload_parts import ChunkedUpload
from reviews.models import Import, ImportProgress, User
from reviews.records.mapping import FieldMapping
from reviews.storage import integrity, source_files
from reviews.storage.chunks import MeteredStream
from reviews.storage.errors import ImportRefused
from reviews.storage.integrity import ContentTotals
from reviews.storage.line_reader import declared_mapping, source_mapping
from reviews.storage.progress_connection import open_progress_connection

JOB = "reviews.tasks.import_upload"

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


@transaction.atomic
def enqueue_import(
    *,
    run_name: str,
    file_name: str,
    blocks: Iterable[bytes],
    strict: bool,
    actor: User,
    mapping: FieldMapping | None = None,
    chunked: ChunkedUpload | None = None,
) -> Import:
    """Store an uploaded file and enqueue its import, which creates the run of a new name.

    The lines are read as by `importer.import_stream`. `chunked` is the same file in chunks of lines. They are
    used unless a mapping finds its records in a document.
    Raises `ImportRefused`, and `OSError` on a full disk.
    """
    check_space()
    run = find_run(run_name)
    if run:
        run = get_or_create_run(name=run_name, mapping=mapping, actor=actor)
    upload = importer.create_import(
        run=run,
        run_name=run_name,
        file_name=file_name,
        strict=strict,
        actor=actor,
        mapping=None if run else mapping,
    )
    stream, totals = MeteredStream(blocks), ContentTotals()
    text, checked = importer.open_source(upload, stream), (settings.LIMITS, settings.MAX_REJECTED_LINES)
    if chunked and text.path is None:
        for _ in up_to_first_record(chunked.chunks(), source_mapping(upload), *checked):
            pass
        chunked.move(upload, totals)
        return _enqueue(upload, totals, actor, document_sha256="")
    chunks = importer.cut_chunks(text)
    if text.path is None:
        chunks = require_first_record(chunks, source_mapping(upload), *checked)
    importer.store_rest(upload, text, source_files.store_chunks(upload, chunks, totals))
    if text.path is not None:
        for _ in up_to_first_record(source_files.stored_chunks(upload), source_mapping(upload), *checked):
            pass
    upload.size, upload.sha256 = stream.size, stream.sha256
    return _enqueue(upload, totals, actor, document_sha256=text.document_sha256)


@transaction.atomic
def enqueue_as_new_run(*, source: Import, run_name: str, actor: User) -> Import:
    """Enqueue another import of a stored file of another judge, into a new run with the same mapping.

    Raises `ImportRefused` for the name of an existing run, and for any other file.
    """
    check_space()
    if find_run(run_name):
        raise ImportRefused("A run with this name exists. Enter another name.", "run")
    if not source.of_other_judge or source.state in Import.UNFINISHED:
        raise ImportRefused("Only another judge's file becomes a run of its own here. Upload the file again.")
    upload = importer.create_import(
        run=None,
        run_name=run_name,
        file_name=source.file_name,
        strict=source.strict,
        actor=actor,
        mapping=declared_mapping(source),
    )
    totals = ContentTotals()
    for _ in source_files.store_chunks(upload, source_files.stored_chunks(source), totals):
        pass
    if source.is_document:
        source_files.store_surroundings(upload, source_files.stored_surroundings(source))
        upload.records_path, upload.is_archive = source.records_path, source.is_archive
        upload.save(update_fields=["records_path", "is_archive"])
    upload.size, upload.sha256 = source.size, source.sha256
    return _enqueue(
        upload, totals, actor, document_sha256=source.sums.text_sha256 if source.is_document else ""
    )


def _enqueue(upload: Import, totals: ContentTotals, actor: User, *, document_sha256: str) -> Import:
    """Enqueue the import of a stored file."""
    ImportProgress.objects.create(source=upload, size=totals.size)
    integrity.record_content(upload, totals, document_sha256=document_sha256)
    upload.save(update_fields=["size", "sha256"])
    events.record(
        "upload", actor=actor, run=upload.run, source=upload, sha256=upload.sha256, size=upload.size
    )
    jobs.configure_task(JOB).defer(import_id=upload.pk)
    return upload


@contextmanager
def progress_reports(import_id: int) -> Iterator[Progress]:
    """Yield a `Progress` that writes over a second connection, visible before the import commits.

    The `Progress` raises `Cancelled` once somebody has cancelled the import.
    """
    with open_progress_connection() as connection:
        connection.execute(_BEGIN, {"import": import_id})

        def report(bytes_done: int, counts: dict[str, int]) -> None:
            values = {"import": import_id, "bytes": bytes_done, "counts": json.dumps(counts)}
            row = connection.report(_REPORT, values)
            if row and row[0]:
                raise Cancelled

        yield report


@transaction.atomic
def import_upload(*, import_id: int, progress: Progress | None = None) -> None:
    """Import an uploaded file. A repeated call changes nothing. Raises `Cancelled`."""
    # The row lock keeps a second worker waiting, which then finds the import finished.
    upload = lock_import(import_id)
    if upload.state not in Import.UNFINISHED:
        return
    run = upload.run
    try:
        with transaction.atomic():
            totals = ContentTotals()
            importer.import_chunks(
                upload=upload,
                stored=source_files.stored_chunks(upload, totals),
                totals=totals,
                progress=progress,
            )
    except ImportRefused as refusal:
        # A run that the import created was rolled back.
        upload.run = run
        if isinstance(refusal, NothingImported):
            insert_import_lines(refusal.import_lines)
        elif isinstance(refusal, TooManyRejections):
            # The file may be huge and cannot be imported again.
            upload.chunks.all().delete()
        _fail(upload, str(refusal))


@transaction.atomic
def fail_upload(*, import_id: int, error: str) -> None:
    """Record that the job of an upload failed. The stored file stays."""
    upload = lock_import(import_id)
    if upload.state in Import.UNFINISHED:
        _fail(upload, error)


def lock_import(import_id: int) -> Import:
    """Return the import with its run, locked against other workers. Rows may still refer to the import."""
    imports = Import.objects.select_for_update(of=["self"], no_key=True).select_related("run")
    return imports.get(pk=import_id)


def _fail(failed: Import, error: str) -> None:
    failed.state, failed.error, failed.finished_at = Import.State.FAILED, error, timezone.now()
    failed.save()
    integrity.record_result(failed)
    events.record("import failed", actor=failed.created_by, run=failed.run, source=failed, error=error)


@transaction.atomic
def cancel_import(*, import_id: int, actor: User) -> None:
    """Cancel a queued import, or ask its running job to stop. A finished import stays as it is."""
    # A running job has locked the row. Skip it instead of waiting for the job to end.
    unlocked = Import.objects.select_for_update(of=["self"], no_key=True, skip_locked=True)
    if queued := unlocked.select_related("run").filter(pk=import_id, state__in=Import.UNFINISHED).first():
        _cancel(queued, actor)
        return
    running = Import.objects.select_related("run").filter(pk=import_id, state__in=Import.UNFINISHED).first()
    if running:
        ImportProgress.objects.filter(source=running).update(cancelled_by=actor)
        events.record("cancel import", actor=actor, run=running.run, source=running)


@transaction.atomic
def finish_cancelled(*, import_id: int) -> None:
    """Record that the job stopped an import as requested. Only the stored file is kept."""
    upload = lock_import(import_id)
    if upload.state in Import.UNFINISHED:
        _cancel(upload, upload.progress.cancelled_by)


def _cancel(upload: Import, actor: User | None) -> None:
    upload.state, upload.finished_at = Import.State.CANCELLED, timezone.now()
    upload.save(update_fields=["state", "finished_at"])
    integrity.record_result(upload)
    events.record("import cancelled", actor=actor, run=upload.run, source=upload)


def can_retry(source: Import) -> bool:
    """Whether the job of an import failed for a reason other than rejected lines, and the file is stored."""
    is_failed = source.state == Import.State.FAILED and hasattr(source, "progress")
    return is_failed and not source.rejected and source.chunks.exists()


@transaction.atomic
def retry_import(*, import_id: int, actor: User) -> None:
    """Enqueue a failed import again. Any other import stays as it is."""
    failed = lock_import(import_id)
    if not can_retry(failed):
        return
    failed.state, failed.error, failed.finished_at = Import.State.QUEUED, "", None
    failed.dismissed_at = None
    failed.save(update_fields=["state", "error", "finished_at", "dismissed_at"])
    failed_progress = {"bytes_done": 0, "counts": {}, "started_at": None, "reported_at": None}
    ImportProgress.objects.filter(source=failed).update(**failed_progress, cancelled_by=None)
    events.record("import retried", actor=actor, run=failed.run, source=failed)
    jobs.configure_task(JOB).defer(import_id=failed.pk)
