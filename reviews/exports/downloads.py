"""Send the file and the receipt of a finished export, for pages and the API."""

import re

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from reviews.exports import formats, jobs, output, stored_files
from reviews.http.streaming import download, repr_digest
from reviews.models import Export, ExportPart, User

_RANGE = re.compile(r"bytes=([0-9]{0,20})-([0-9]{0,20})")


def file_response(export: Export, reader: User, request: HttpRequest) -> StreamingHttpResponse | HttpResponse:
    """Return the file, or the range of the Range header of the request, and record the download."""
    jobs.record_download(export, reader)
    name = output.export_options(export).file_name
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


def receipt_response(export: Export) -> StreamingHttpResponse:
    """Return the receipt, for `manage.py verify_export`."""
    name = f"{output.export_options(export).file_name}.receipt.json"
    return download(stored_files.stored_receipt(export), name, content_type="application/json")


def _headers(export: Export, name: str) -> dict[str, str]:
    return {
        "Content-Type": formats.CONTENT_TYPES[f".{name.rpartition('.')[2]}"],
        "Accept-Ranges": "bytes",
        "ETag": _etag(export),
        "Repr-Digest": repr_digest(export.sha256),
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
