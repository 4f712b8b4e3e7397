"""A file on its way from a browser or a program: it arrives part by part, and is imported once it is whole.

Nothing is held in memory or on one host: each part is committed as it comes, so that whoever was
cut off goes on from the last of them, on any web server.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Sum
from django.utils import timezone

from cognireview.operations.disk_full import check_space, is_disk_full
from cognireview.operations.redacted_errors import describe
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer, jobs, runs
from reviews.imports.bulk_insert import execute_with_bound_parameters
from reviews.models import Import, Upload, UploadPart, User
from reviews.storage.errors import ImportRefused

_INSERT_PART = 'INSERT INTO upload_part (upload_id, "offset", data) VALUES (%s, %s, %b)'
log = logging.getLogger(__name__)


class FileTooLarge(Exception):
    """The message is a sentence that names the limit."""


class UploadQuotaExceeded(Exception):
    """Too much has begun to arrive and is not finished; the message is a sentence that names the limit.

    `too_many` uploads, or else too many bytes.
    """

    def __init__(self, sentence: str, *, too_many: bool) -> None:
        super().__init__(sentence)
        self.too_many = too_many


class WrongOffset(Exception):
    """A part does not begin where the last one ended."""


@transaction.atomic
def begin(*, file_name: str, run_name: str, strict: bool, size: int, actor: User) -> Upload:
    """Begin the upload of a file of `size` bytes.

    Nothing is reserved: what counts against the quota is what has arrived. Raises `ImportRefused`,
    `FileTooLarge`, `UploadQuotaExceeded`, and `OSError` on a full disk.
    """
    check_space()
    if not size:
        raise ImportRefused("The file is empty.")
    check_size(size)
    _check_count(actor)
    upload = Upload.objects.create(
        created_by=actor,
        file_name=importer.clean_file_name(file_name),
        run_name=runs.clean_run_name(run_name),
        strict=strict,
        size=size,
    )
    events.record("upload begun", actor=actor, upload=str(upload.pk), file_name=upload.file_name, size=size)
    return upload


def check_size(size: int) -> None:
    """Raise `FileTooLarge` for a file that is."""
    limit = settings.MAX_UPLOAD_BYTES
    if size > limit:
        raise FileTooLarge(f"The file is larger than {limit:,} bytes (COGNIREVIEW_MAX_UPLOAD_BYTES).")


def _check_count(actor: User) -> None:
    locks.acquire(Lock.UPLOADS)
    unfinished = Upload.objects.filter(source=None)
    own, most = unfinished.filter(created_by=actor).count(), settings.MAX_OPEN_UPLOADS
    if own >= most:
        sentence = (
            f"You have {own:,} unfinished uploads, and may have {most:,} (COGNIREVIEW_MAX_OPEN_UPLOADS)."
        )
        raise UploadQuotaExceeded(f"{sentence} {_what_to_do()}", too_many=True)
    everybody, most = unfinished.count(), settings.MAX_OPEN_UPLOADS_OVERALL
    if everybody >= most:
        limit = f"{most:,} are allowed (COGNIREVIEW_MAX_OPEN_UPLOADS_OVERALL)"
        sentence = f"There are {everybody:,} unfinished uploads, and {limit}."
        raise UploadQuotaExceeded(f"{sentence} Try again later.", too_many=True)


def _check_bytes(upload: Upload, more: int) -> None:
    """Raise `UploadQuotaExceeded` if so many bytes more would be too many.

    Parts that arrive at the same moment may exceed the quota by one part each.
    """
    unfinished = Upload.objects.filter(source=None)
    limits = (
        (unfinished.filter(created_by=upload.created_by_id), "BYTES", settings.MAX_OPEN_UPLOAD_BYTES),
        (unfinished, "BYTES_OVERALL", settings.MAX_OPEN_UPLOAD_BYTES_OVERALL),
    )
    for uploads, name, most in limits:
        arrived = uploads.aggregate(sum=Sum("offset"))["sum"] or 0
        if arrived + more > most:
            limit = f"{most:,} are allowed (COGNIREVIEW_MAX_OPEN_UPLOAD_{name})"
            whose = "yours" if name == "BYTES" else "all"
            sentence = f"Unfinished uploads, {whose} together, hold {arrived:,} bytes, and {limit}."
            raise UploadQuotaExceeded(f"{sentence} {_what_to_do()}", too_many=False)


def _what_to_do() -> str:
    hours = settings.KEEP_UPLOADS // timedelta(hours=1)
    return f"Finish or cancel one; an upload that nothing arrives for is removed after {hours:,} hours."


@transaction.atomic
def append(upload: Upload, *, offset: int, data: bytes) -> Upload:
    """Take the part that begins at `offset`, and with the last one hand the file to the importer.

    Raises `WrongOffset`, `FileTooLarge`, `UploadQuotaExceeded`, `OSError` on a full disk, and for the last
    part `ImportRefused`. The part is not stored then.
    """
    check_space()
    upload = Upload.objects.select_for_update(of=["self"]).select_related("created_by").get(pk=upload.pk)
    if offset != upload.offset:
        raise WrongOffset
    if offset + len(data) > upload.size:
        raise FileTooLarge(f"The file was said to have {upload.size:,} bytes, and this is more.")
    _check_bytes(upload, len(data))
    execute_with_bound_parameters(_INSERT_PART, [upload.pk, offset, data])
    upload.offset += len(data)
    upload.changed_at = timezone.now()
    if upload.offset == upload.size:
        _finish(upload)
    upload.save(update_fields=["offset", "changed_at", "source"])
    return upload


def receive(
    *, file_name: str, run_name: str, strict: bool, size: int, parts: Iterable[bytes], actor: User
) -> Import:
    """Take a whole file that comes in one request, in parts of about 1 MiB, and return its import.

    No transaction is open while a part is waited for. What `parts` raises, and a file that is refused, leaves
    nothing. Raises `ImportRefused`, `FileTooLarge` and `UploadQuotaExceeded`.
    """
    upload = begin(file_name=file_name, run_name=run_name, strict=strict, size=size, actor=actor)
    try:
        return _append_all(upload, parts)
    except BaseException as error:
        _drop_after(error, upload, actor)
        raise


def _drop_after(error: BaseException, upload: Upload, actor: User) -> None:
    """Remove an upload that failed. On a full disk even that may fail; then it expires."""
    try:
        discard(upload, actor)
    except DatabaseError as second:
        if not is_disk_full(error):
            raise
        log.warning("Upload %s stays until it expires: %s", upload.pk, describe(second))


def _append_all(upload: Upload, parts: Iterable[bytes]) -> Import:
    for part in parts:
        upload = append(upload, offset=upload.offset, data=part)
    if upload.source is None:
        raise ImportRefused("The file broke off on its way. Send it again.")
    return upload.source


def _finish(upload: Upload) -> None:
    """In one transaction with the last part: an upload that is whole has its import."""
    upload.source = jobs.enqueue_import(
        run_name=upload.run_name,
        file_name=upload.file_name,
        blocks=_blocks(upload),
        strict=upload.strict,
        actor=upload.created_by,
    )
    upload.parts.all().delete()


def _blocks(upload: Upload) -> Iterator[bytes]:
    for pk in list(upload.parts.order_by("offset").values_list("pk", flat=True)):
        yield bytes(UploadPart.objects.get(pk=pk).data)


@transaction.atomic
def discard(upload: Upload, actor: User) -> None:
    """Remove an upload that will not be finished."""
    events.record("upload dropped", actor=actor, upload=str(upload.pk), file_name=upload.file_name)
    upload.delete()


@transaction.atomic
def remove_expired() -> None:
    """Remove the uploads that nothing came to for `KEEP_UPLOADS`. Of finished ones the import stays."""
    expired = Upload.objects.filter(changed_at__lt=timezone.now() - settings.KEEP_UPLOADS)
    for upload in expired.select_for_update():
        if not upload.source_id:
            events.record("upload expired", actor=None, upload=str(upload.pk), file_name=upload.file_name)
        upload.delete()
