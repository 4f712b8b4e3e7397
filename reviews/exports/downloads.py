"""Send an export while it is built, or one that was built, and record who receives it."""

import re
from collections.abc import Iterator
from contextlib import closing

from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from reviews.audit import events
from reviews.exports import formats, stored_files
from reviews.exports.jobs import record_export, record_reveal
from reviews.exports.output import ExportOptions, ExportOutput, export_options
from reviews.http.streaming import download, sha256_field
from reviews.models import Export, ExportPart, User

_RANGE = re.compile(r"bytes=([0-9]{0,20})-([0-9]{0,20})")


class _RecordedOutput(ExportOutput):
    """An export that is recorded once its last byte was read."""

    def __init__(self, options: ExportOptions, actor: User) -> None:
        super().__init__(options)
        self._actor = actor

    def __iter__(self) -> Iterator[bytes]:
        with closing(self):
            yield from super().__iter__()
        with transaction.atomic():
            record_export(options=self.options, actor=self._actor, figures=self.figures)


def stream_export(*, options: ExportOptions, actor: User) -> ExportOutput:
    """Stream an export while it is built. Raises `InvalidExport` at once and `CorruptData` while it runs.

    The audit event of a complete file has its figures. A stream that breaks off leaves only its start event.
    """
    options.check()
    with transaction.atomic():
        record_reveal(options, actor)
        events.record("export begun", actor=actor, run=options.run, only=options.only)
    return _RecordedOutput(options, actor)


def file_response(export: Export, reader: User, request: HttpRequest) -> StreamingHttpResponse | HttpResponse:
    """Return the file, or the range of the Range header of the request, and record the download."""
    _record_download(export, reader)
    name = export_options(export).file_name
    asked = None
    if request.headers.get("If-Range", _etag(export)) == _etag(export):
        asked = asked_range(request.headers.get("Range", ""), export.size)
    if asked is not None and not asked:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{export.size}"})
    sent = range(export.size) if asked is None else asked
    blocks = stored_files.stored_range(export, ExportPart.Kind.FILE, sent.start, sent.stop - 1)
    response = download(blocks if request.method == "GET" else iter(()), name, size=len(sent))
    response.status_code = 200 if asked is None else 206
    for header, value in _headers(export, name).items():
        response.headers[header] = value
    if asked is not None:
        response.headers["Content-Range"] = f"bytes {sent.start}-{sent.stop - 1}/{export.size}"
    return response


@transaction.atomic
def _record_download(export: Export, reader: User) -> None:
    """Record that somebody downloads an export, possibly another person's."""
    if reader != export.created_by:
        record_reveal(export_options(export), reader)


def receipt_response(export: Export) -> StreamingHttpResponse:
    """Return the receipt, for `manage.py verify_export`."""
    name = f"{export_options(export).file_name}.receipt.json"
    return download(stored_files.stored_receipt(export), name, content_type="application/json")


def _headers(export: Export, name: str) -> dict[str, str]:
    return {
        "Content-Type": formats.CONTENT_TYPES[f".{name.rpartition('.')[2]}"],
        "Accept-Ranges": "bytes",
        "ETag": _etag(export),
        "Repr-Digest": sha256_field(export.sha256),
        # Not no-store: a browser may resume an interrupted download.
        "Cache-Control": "private, no-cache",
    }


def _etag(export: Export) -> str:
    return f'"{export.sha256}"'


def asked_range(header: str, size: int) -> range | None:
    """Return the range of a Range header; empty if it is outside the file.

    None means the whole file: without a header, and for an invalid header or several ranges, which a server
    may ignore (RFC 9110, 14.2).
    """
    found = _RANGE.fullmatch(header.strip())
    first, last = found.groups() if found else ("", "")
    if first and last and int(last) < int(first):
        return None
    if first:
        return range(int(first), min(int(last) + 1, size) if last else size)
    return range(max(size - int(last), 0), size) if last else None
