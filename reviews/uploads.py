"""A file on its way from a browser or a program: it arrives part by part, and is imported once it is whole.

Nothing is held in memory or on one host: each part is committed as it comes, so that whoever was
cut off goes on from the last of them, on any web server.
"""

from collections.abc import Iterable, Iterator

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from reviews import audit, importer, receiving
from reviews.models import Import, Upload, UploadPart, User
from reviews.source import Refused


class TooLarge(Exception):
    """The message is a sentence that names the limit."""


class WrongOffset(Exception):
    """A part does not begin where the last one ended."""


@transaction.atomic
def begin(*, file_name: str, run_name: str, strict: bool, size: int, actor: User) -> Upload:
    """Make place for a file of `size` bytes. Raises `Refused` and `TooLarge`."""
    if not size:
        raise Refused("The file is empty.")
    check_size(size)
    upload = Upload.objects.create(
        created_by=actor,
        file_name=importer.bare_name(file_name),
        run_name=receiving.checked_run_name(run_name),
        strict=strict,
        size=size,
    )
    audit.record("upload begun", actor=actor, upload=str(upload.pk), file_name=upload.file_name, size=size)
    return upload


def check_size(size: int) -> None:
    """Raise `TooLarge` for a file that is."""
    limit = settings.MAX_UPLOAD_BYTES
    if size > limit:
        raise TooLarge(f"The file is larger than {limit:,} bytes (COGNIREVIEW_MAX_UPLOAD_BYTES).")


@transaction.atomic
def append(upload: Upload, *, offset: int, data: bytes) -> Upload:
    """Take the part that begins at `offset`, and with the last one hand the file to the importer.

    Raises `WrongOffset`, `TooLarge`, and with the last part `Refused`; then the part is not taken.
    """
    upload = Upload.objects.select_for_update(of=["self"]).select_related("created_by").get(pk=upload.pk)
    if offset != upload.offset:
        raise WrongOffset
    if offset + len(data) > upload.size:
        raise TooLarge(f"The file was said to have {upload.size:,} bytes, and this is more.")
    UploadPart.objects.create(upload=upload, offset=offset, data=data)
    upload.offset += len(data)
    upload.changed_at = timezone.now()
    if upload.offset == upload.size:
        _finish(upload)
    upload.save(update_fields=["offset", "changed_at", "source"])
    return upload


def take(
    *, file_name: str, run_name: str, strict: bool, size: int, parts: Iterable[bytes], actor: User
) -> Import:
    """Take a whole file that comes in one request, in parts of about 1 MiB, and return its import.

    No transaction is open while a part is waited for. What `parts` raises, and a file that is refused, leaves
    nothing. Raises `Refused` and `TooLarge`.
    """
    upload = begin(file_name=file_name, run_name=run_name, strict=strict, size=size, actor=actor)
    try:
        return _append_all(upload, parts)
    except BaseException:
        drop(upload, actor)
        raise


def _append_all(upload: Upload, parts: Iterable[bytes]) -> Import:
    for part in parts:
        upload = append(upload, offset=upload.offset, data=part)
    if upload.source is None:
        raise Refused("The file broke off on its way. Send it again.")
    return upload.source


def _finish(upload: Upload) -> None:
    """In one transaction with the last part: an upload that is whole has its import."""
    upload.source = importer.receive_upload(
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
def drop(upload: Upload, actor: User) -> None:
    """Remove an upload that will not be finished."""
    audit.record("upload dropped", actor=actor, upload=str(upload.pk), file_name=upload.file_name)
    upload.delete()


@transaction.atomic
def remove_expired() -> None:
    """Remove the uploads that nothing came to for `KEEP_UPLOADS`. Of finished ones the import stays."""
    expired = Upload.objects.filter(changed_at__lt=timezone.now() - settings.KEEP_UPLOADS)
    for upload in expired.select_for_update():
        if not upload.source_id:
            audit.record("upload expired", actor=None, upload=str(upload.pk), file_name=upload.file_name)
        upload.delete()
