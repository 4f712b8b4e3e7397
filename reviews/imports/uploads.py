"""Receive a file in parts, and enqueue its import once it is complete.

Nothing is kept in memory or on one host: each part is committed as it arrives, so an interrupted client
continues after the last part, on any web server.
"""

import hashlib
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import cast

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Sum
from django.utils import timezone

from cognireview.operations.disk_full import check_space, is_disk_full
from cognireview.operations.redacted_errors import describe
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import execute
from reviews.imports import importer, jobs, runs, upload_parts
from reviews.imports.recognition import ToolRecognised, open_text, recognise_tool
from reviews.imports.upload_parts import ChunkedUpload
from reviews.models import Import, Upload, User
from reviews.records.mapping import FieldMapping
from reviews.storage.chunks import BOM
from reviews.storage.errors import ImportRefused

log = logging.getLogger(__name__)


class FileTooLarge(Exception):
    """A file is larger than allowed. The message is a sentence that names the limit."""


class UploadQuotaExceeded(Exception):
    """There are too many unfinished uploads, or they are too large. The message is a sentence."""

    def __init__(self, sentence: str, *, too_many: bool) -> None:
        super().__init__(sentence)
        #: Whether there are too many uploads. False: too many bytes.
        self.too_many = too_many


class WrongOffset(Exception):
    """A part does not begin at the end of the previous one."""


@transaction.atomic
def begin(*, file_name: str, run_name: str, strict: bool, size: int, actor: User) -> Upload:
    """Begin the upload of a file of `size` bytes.

    No quota is reserved: only received bytes count. Raises `ImportRefused`,
    `FileTooLarge`, `UploadQuotaExceeded`, and `OSError` on a full disk.
    """
    check_space()
    if not size:
        raise ImportRefused("The file is empty.")
    check_size(size)
    runs.find_run(run_name)
    _check_count(actor)
    upload = Upload.objects.create(
        created_by=actor,
        file_name=importer.clean_file_name(file_name),
        run_name=run_name,
        strict=strict,
        size=size,
    )
    events.record("upload begun", actor=actor, upload=str(upload.pk), file_name=upload.file_name, size=size)
    return upload


def check_size(size: int) -> None:
    """Raise `FileTooLarge` if the file exceeds the limit."""
    limit = settings.MAX_UPLOAD_BYTES
    if size > limit:
        raise FileTooLarge(f"The file is larger than {limit:,} bytes (COGNIREVIEW_MAX_UPLOAD_BYTES).")


def _check_count(actor: User) -> None:
    locks.acquire(Lock.UPLOADS)
    unfinished = Upload.objects.filter(source=None)
    own, most = unfinished.filter(created_by=actor).count(), settings.MAX_OPEN_UPLOADS
    if own >= most:
        sentence = (
            f"You have {own:,} unfinished uploads; the limit is {most:,} (COGNIREVIEW_MAX_OPEN_UPLOADS)."
        )
        raise UploadQuotaExceeded(f"{sentence} {_what_to_do()}", too_many=True)
    everybody, most = unfinished.count(), settings.MAX_OPEN_UPLOADS_OVERALL
    if everybody >= most:
        limit = f"the limit is {most:,} (COGNIREVIEW_MAX_OPEN_UPLOADS_OVERALL)"
        sentence = f"There are {everybody:,} unfinished uploads; {limit}."
        raise UploadQuotaExceeded(f"{sentence} Try again later.", too_many=True)


def _check_bytes(upload: Upload, more: int) -> None:
    """Raise `UploadQuotaExceeded` if the quota has no room for `more` bytes.

    Parts that arrive at the same time may exceed the quota by one part each.
    """
    unfinished = Upload.objects.filter(source=None)
    limits = (
        (unfinished.filter(created_by=upload.created_by_id), "BYTES", settings.MAX_OPEN_UPLOAD_BYTES),
        (unfinished, "BYTES_OVERALL", settings.MAX_OPEN_UPLOAD_BYTES_OVERALL),
    )
    for uploads, name, most in limits:
        arrived = uploads.aggregate(sum=Sum("offset"))["sum"] or 0
        if arrived + more > most:
            limit = f"the limit is {most:,} (COGNIREVIEW_MAX_OPEN_UPLOAD_{name})"
            whose = "Your" if name == "BYTES" else "All"
            sentence = f"{whose} unfinished uploads have {arrived:,} bytes in total; {limit}."
            raise UploadQuotaExceeded(f"{sentence} {_what_to_do()}", too_many=False)


def _what_to_do() -> str:
    hours = settings.KEEP_UPLOADS // timedelta(hours=1)
    return f"Finish or cancel one. Inactive uploads are removed after {hours:,} hours."


@transaction.atomic
def append(
    upload: Upload,
    *,
    offset: int,
    data: bytes,
    keep_known_tool: bool = False,
    digest: "hashlib._Hash | None" = None,
) -> Upload:
    """Store the part that begins at `offset`. The last part enqueues the import.

    With `keep_known_tool`, the file of a known tool is kept without an import if its run has no mapping. Then
    `enqueue_mapped` imports it. `digest` is the SHA-256 of all earlier parts of a single request, and is
    updated. Without it, each part is acknowledged, and the last one reads the file again.

    Raises `WrongOffset`, `FileTooLarge`, `UploadQuotaExceeded`, `OSError` on a full disk, and for the last
    part `ImportRefused`. The part is not stored then.
    """
    check_space()
    upload = Upload.objects.select_for_update(of=["self"]).select_related("created_by").get(pk=upload.pk)
    if offset != upload.offset:
        raise WrongOffset
    if offset + len(data) > upload.size:
        raise FileTooLarge(f"The file is longer than the announced {upload.size:,} bytes.")
    _check_bytes(upload, len(data))
    if digest and offset + len(data) < upload.size:
        # The request is not answered yet. The commit of its last part writes all parts to disk.
        execute("SET LOCAL synchronous_commit = off")
    upload_parts.store(upload, data, also=[partial(digest.update, data)] if digest else ())
    upload.offset += len(data)
    upload.changed_at = timezone.now()
    if upload.offset == upload.size:
        kept = (ToolRecognised,) if keep_known_tool else ()
        with suppress(*kept):
            _enqueue(upload, upload.run_name, sha256=digest.hexdigest() if digest else None)
    upload.save(update_fields=["offset", "chunked", "changed_at", "source"])
    return upload


def receive(
    *, file_name: str, run_name: str, strict: bool, size: int, parts: Iterable[bytes], actor: User
) -> Import:
    """Receive a complete file in parts of a few MiB, and return its import.

    No transaction is open while waiting for a part. After an error in `parts`, and after a refusal, nothing
    is left. Raises `ImportRefused`, `FileTooLarge` and `UploadQuotaExceeded`.
    """
    upload = begin(file_name=file_name, run_name=run_name, strict=strict, size=size, actor=actor)
    return cast("Import", _append_all(upload, parts, keep_known_tool=False).source)


def keep_for_mapping(
    *, file_name: str, run_name: str, strict: bool, size: int, parts: Iterable[bytes], actor: User
) -> Upload:
    """Store the file of a known tool, as `append` does with `keep_known_tool`. Raises as `receive`."""
    upload = begin(file_name=file_name, run_name=run_name, strict=strict, size=size, actor=actor)
    return _append_all(upload, parts, keep_known_tool=True)


def _drop_after(error: BaseException, upload: Upload) -> None:
    """Remove a failed upload. If the full disk prevents even that, the upload expires later."""
    try:
        discard(upload=upload, actor=upload.created_by)
    except DatabaseError as second:
        if not is_disk_full(error):
            raise
        log.warning("Upload %s stays until it expires: %s", upload.pk, describe(second))


def _append_all(upload: Upload, parts: Iterable[bytes], *, keep_known_tool: bool) -> Upload:
    """Append all parts. After an error, remove the upload."""
    digest = hashlib.sha256()
    try:
        for part in parts:
            upload = append(
                upload, offset=upload.offset, data=part, keep_known_tool=keep_known_tool, digest=digest
            )
        _check_complete(upload)
    except BaseException as error:
        _drop_after(error, upload)
        raise
    return upload


def _check_complete(upload: Upload) -> None:
    if upload.offset < upload.size:
        raise ImportRefused("The upload was interrupted. Send the file again.")


def _enqueue(
    upload: Upload, run_name: str, mapping: FieldMapping | None = None, *, sha256: str | None = None
) -> Import:
    """Enqueue the import of a complete upload. The caller saves `source` in the same transaction."""
    upload.source = source = jobs.enqueue_import(
        run_name=run_name,
        file_name=upload.file_name,
        blocks=upload_parts.blocks(upload),
        strict=upload.strict,
        actor=upload.created_by,
        mapping=mapping,
        chunked=None if upload.chunked is None else ChunkedUpload(upload, sha256),
    )
    upload.parts.all().delete()
    return source


def propose_mapping(upload: Upload) -> ToolRecognised | None:
    """Return the mapping and the first records of a complete upload without an import. None for others."""
    if upload.source_id or upload.offset < upload.size:
        return None
    try:
        text = open_text(upload_parts.blocks(upload), None)
    except ToolRecognised as known:
        return known
    return recognise_tool(next(iter(text), b"").removeprefix(BOM))


@transaction.atomic
def enqueue_mapped(upload: Upload, *, run_name: str, mapping: FieldMapping) -> Import:
    """Enqueue the import of a complete upload with a mapping. A repeated call returns the same import.

    Raises `ImportRefused`, and `OSError` on a full disk.
    """
    upload = Upload.objects.select_for_update(of=["self"]).select_related("created_by").get(pk=upload.pk)
    source = upload.source
    if source is None:
        source = _enqueue(upload, run_name, mapping)
        upload.save(update_fields=["source"])
    return source


@transaction.atomic
def discard(*, upload: Upload, actor: User) -> None:
    events.record("upload dropped", actor=actor, upload=str(upload.pk), file_name=upload.file_name)
    upload.delete()


@transaction.atomic
def remove_expired() -> None:
    """Remove uploads that were inactive for `KEEP_UPLOADS`. Their imports stay."""
    expired = Upload.objects.filter(changed_at__lt=timezone.now() - settings.KEEP_UPLOADS)
    for upload in expired.select_for_update():
        if not upload.source_id:
            events.record("upload expired", actor=None, upload=str(upload.pk), file_name=upload.file_name)
        upload.delete()
