"""Resumable uploads by the tus protocol 1.0 (https://tus.io): core, creation and termination.

The browser creates an upload and sends its bytes in one or more requests. After an interruption it asks for
the offset. Once the file is complete, it is redirected to the import, or to the confirmation of a mapping.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from cognireview.operations import disk_full
from reviews.accounts.permissions import check
from reviews.http import tus
from reviews.http.request import Request
from reviews.imports import uploads
from reviews.models import Upload
from reviews.storage.errors import ImportRefused

_DISK_FULL = (
    "The server's disk is full. The received part is kept for a day. Free some space on the server, then "
    "choose the file again."
)

P = ParamSpec("P")


def _tus(
    view: Callable[Concatenate[Request, P], HttpResponse],
) -> Callable[Concatenate[Request, P], HttpResponse]:
    """Check permission and protocol version, and turn errors into a status with a sentence."""

    @wraps(view)
    def answer(request: Request, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        check(request.user, "import_file")
        try:
            tus.check_version(request)
            response = view(request, *args, **kwargs)
        except tus.TusError as error:
            response = _sentence(error.status, error)
        except uploads.WrongOffset:
            response = _sentence(
                409, "The upload has another offset. Request it with HEAD and continue there."
            )
        except uploads.FileTooLarge as error:
            response = _sentence(413, error)
        except uploads.UploadQuotaExceeded as error:
            response = _sentence(429 if error.too_many else 413, error)
        except ImportRefused as refused:
            response = _sentence(422, refused)
        except (OSError, DatabaseError) as error:
            if not disk_full.is_disk_full(error):
                raise
            response = _sentence(507, _DISK_FULL)
        for name in ("Tus-Resumable", "Tus-Version"):
            response[name] = tus.VERSION
        return response

    return answer


def _sentence(status: int, sentence: object) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")


@require_http_methods(["POST", "OPTIONS"])
@_tus
def new_upload(request: Request) -> HttpResponse:
    """Create an upload (POST), or list the server's capabilities (OPTIONS)."""
    if request.method == "OPTIONS":
        can_do = {
            "Tus-Extension": "creation,termination",
            "Tus-Max-Size": str(settings.MAX_UPLOAD_BYTES),
        }
        return HttpResponse(status=204, headers=can_do)
    upload = uploads.begin(**tus.read_upload(request)._asdict(), actor=request.user)
    return HttpResponse(status=201, headers={"Location": reverse("upload", args=[upload.pk])})


@require_http_methods(["HEAD", "PATCH", "DELETE", "GET"])
@_tus
def upload(request: Request, pk: UUID) -> HttpResponse:
    """Return the offset (HEAD), append (PATCH), cancel (DELETE), or redirect to the next page (GET)."""
    found = Upload.objects.filter(pk=pk, created_by=request.user).first()
    if not found:
        raise Http404
    if request.method == "GET":
        if found.source_id:
            return redirect("import", found.source_id)
        if found.offset < found.size:
            raise Http404
        return redirect("upload-mapping", found.pk)
    if request.method == "DELETE":
        uploads.discard(upload=found, actor=request.user)
        return HttpResponse(status=204)
    if request.method == "PATCH":
        found = _append(request, found)
    status = 204 if request.method == "PATCH" else 200
    return HttpResponse(
        status=status, headers={"Upload-Offset": str(found.offset), "Upload-Length": str(found.size)}
    )


def _append(request: Request, upload: Upload) -> Upload:
    """Append the bytes of a request part by part. Parts received before an interruption stay."""
    if request.content_type != tus.CONTENT_TYPE:
        raise tus.TusError(415, f"The content type of an upload must be {tus.CONTENT_TYPE}.")
    if tus.read_number(request, "Upload-Offset") != upload.offset:
        raise uploads.WrongOffset
    try:
        for part in tus.read_parts(request):
            upload = uploads.append(upload, offset=upload.offset, data=part, keep_known_tool=True)
    except ImportRefused:
        uploads.discard(upload=upload, actor=request.user)
        raise
    except Upload.DoesNotExist as gone:
        raise tus.TusError(410, "The upload was removed.") from gone
    return upload
