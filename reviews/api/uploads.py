"""Resumable uploads by the tus protocol 1.0 (https://tus.io), for programs."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.problems import PREFIX, Problem
from reviews.http import tus
from reviews.imports import uploads
from reviews.models import Upload
from reviews.storage.errors import ImportRefused

router = Router(tags=["imports"])
_PROTOCOL = (400, 412)
_WRONG_OFFSET = "The upload has another offset. Request it with HEAD and continue there."


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": True,
        "description": description,
        "schema": schema or {"type": "string"},
    }


_VERSION = _header("Tus-Resumable", "The version of the protocol.", type="string", enum=[tus.VERSION])
_LENGTH = _header("Upload-Length", "The size of the file in bytes.", type="integer", minimum=0)
_OFFSET = _header("Upload-Offset", "The bytes received so far.", type="integer", minimum=0)
_METADATA = _header("Upload-Metadata", "`filename`, `run` and `strict`, their values encoded in base64.")


@operation(
    router,
    operations.CREATE_UPLOAD,
    scope="import",
    status=201,
    problems=(*_PROTOCOL, 413, 422, 429, 507),
    parameters=[_VERSION, _LENGTH, _METADATA],
)
def create_upload(request: ApiRequest, response: HttpResponse) -> None:
    """Begin a resumable upload by the tus protocol. `Location` is its address.

    Send the bytes there by PATCH. After an interruption, HEAD returns the offset to continue from.
    """
    response["Tus-Resumable"] = tus.VERSION
    tus.check_version(request)
    announced = tus.read_upload(request)
    upload = uploads.begin(**announced._asdict(), actor=request.user)
    response["Location"] = f"{PREFIX}uploads/{upload.pk}"


@operation(
    router, operations.CHECK_UPLOAD, scope="import", status=200, problems=(412,), parameters=[_VERSION]
)
def check_upload(request: ApiRequest, response: HttpResponse, upload_id: UUID) -> None:
    """Return the offset to continue from, in the header `Upload-Offset`."""
    tus.check_version(request)
    _describe(response, _find(request, upload_id))


@operation(router, operations.UPLOAD, scope="import")
def get_upload(request: ApiRequest, upload_id: UUID) -> dict[str, Any]:
    """Return the progress of an upload, and the number of its import once it is complete."""
    upload = _find(request, upload_id)
    return {"offset": upload.offset, "size": upload.size, "import_id": upload.source_id}


@operation(
    router,
    operations.APPEND,
    scope="import",
    problems=(*_PROTOCOL, 409, 413, 415, 422, 429, 507),
    parameters=[_VERSION, _OFFSET],
    requestBody={
        "required": True,
        "content": {tus.CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    },
)
def append_to_upload(request: ApiRequest, response: HttpResponse, upload_id: UUID) -> None:
    """Append bytes. Those received before an interruption stay; the last ones enqueue the import."""
    tus.check_version(request)
    offset = tus.read_number(request, "Upload-Offset")
    upload = _find(request, upload_id)
    if request.content_type != tus.CONTENT_TYPE:
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"The Content-Type must be {tus.CONTENT_TYPE}.")
    if offset != upload.offset:
        raise Problem(HTTPStatus.CONFLICT, _WRONG_OFFSET)
    try:
        for part in tus.read_parts(request):
            upload = uploads.append(upload, offset=upload.offset, data=part)
    except uploads.WrongOffset as error:
        raise Problem(HTTPStatus.CONFLICT, _WRONG_OFFSET) from error
    except ImportRefused:
        uploads.discard(upload=upload, actor=request.user)
        raise
    except Upload.DoesNotExist as gone:
        raise Http404 from gone
    _describe(response, upload)


@operation(router, operations.CANCEL_UPLOAD, scope="import", problems=(412,), parameters=[_VERSION])
def cancel_upload(request: ApiRequest, response: HttpResponse, upload_id: UUID) -> None:
    """Cancel an upload, and remove its parts."""
    tus.check_version(request)
    uploads.discard(upload=_find(request, upload_id), actor=request.user)
    response["Tus-Resumable"] = tus.VERSION


def _find(request: ApiRequest, upload_id: UUID) -> Upload:
    found = Upload.objects.filter(pk=upload_id, created_by=request.user).first()
    if not found:
        raise Http404
    return found


def _describe(response: HttpResponse, upload: Upload) -> None:
    response["Tus-Resumable"] = tus.VERSION
    response["Upload-Offset"] = str(upload.offset)
    response["Upload-Length"] = str(upload.size)
