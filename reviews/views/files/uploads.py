"""Upload a file to import: in a form, or resumable by the tus protocol 1.0 (https://tus.io).

The server knows core, creation and termination of the protocol. The browser creates an upload and sends its
bytes in one or more requests. After an interruption it asks for the offset. Once the file is complete, it is
redirected to the import, or to the confirmation of a mapping.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from cognireview.operations import disk_full
from reviews.accounts.permissions import check
from reviews.http import tus
from reviews.http.request import Request
from reviews.imports import jobs, uploads
from reviews.imports.recognition import ToolRecognised
from reviews.models import RUN_NAME_LENGTH, Import, Run, Upload
from reviews.storage import decompression
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused
from reviews.views.form_fields import UploadField, refusal_in
from reviews.views.shortcuts import form_page, render_form

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


SHOWN_IMPORTS = 5


class UploadForm(forms.Form):
    file = UploadField(
        label="File",
        help_text="One evaluation per line, a JSON array, or a file of a known tool; optionally compressed "
        "with gzip or zstd. Valid lines are imported; invalid lines are listed.",
        accept=".jsonl,.ndjson,.json,.gz,.zst,.zip,.eval",
    )
    run_name = forms.CharField(
        label="Run",
        required=False,
        max_length=Run._meta.get_field("name").max_length,
        help_text="A new name creates a new run. If empty, the run is named after the file.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    strict = forms.BooleanField(required=False, label="Import nothing if any line is invalid")


@form_page
def import_file(request: Request) -> HttpResponse:
    """Show the form, with the name of the run `run`. A POST uploads a file and redirects to its import."""
    check(request.user, "import_file")
    form = UploadForm(initial={"run_name": request.GET.get("run", "")})
    if request.method == "POST":
        form = UploadForm(request.POST, request.FILES)
        done = _receive(form, request) if form.is_valid() else None
        if isinstance(done, Import):
            return redirect("import", done.pk)
        if done:
            return redirect("upload-mapping", done.pk)
    # Running imports into new runs, and those that failed or were cancelled.
    shown = Import.objects.filter(run=None).order_by("-pk")[:SHOWN_IMPORTS]
    return render_form(request, "files/imports/new.html", form, imports_without_run=shown)


def _receive(form: UploadForm, request: Request) -> Import | Upload | None:
    """Import the uploaded file, or keep a file of a known tool until its mapping is confirmed.

    Return None, with the reason in the form, if the file is rejected.
    """
    file = form.cleaned_data["file"]
    names: dict[str, Any] = {
        "run_name": form.cleaned_data["run_name"] or decompression.base_name(file.name),
        "file_name": file.name,
        "strict": form.cleaned_data["strict"],
        "actor": request.user,
    }
    try:
        return jobs.enqueue_import(**names, blocks=file.chunks(BLOCK_SIZE))
    except ToolRecognised:
        with refusal_in(form, uploads.UploadQuotaExceeded, "file"):
            return uploads.keep_for_mapping(**names, size=file.size, parts=file.chunks(BLOCK_SIZE))
    except ImportRefused as refused:
        form.add_error("run_name" if refused.field == "run" else "file", str(refused))
    return None


class ConfirmForm(forms.Form):
    run_name = forms.CharField(
        label="Run",
        max_length=RUN_NAME_LENGTH,
        help_text="A new name creates a new run.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


@form_page
def upload_mapping(request: Request, pk: UUID) -> HttpResponse:
    """Show the first records of an upload. A POST imports it with the proposed mapping, or removes it."""
    check(request.user, "import_file")
    upload = get_object_or_404(Upload, pk=pk, created_by=request.user)
    if upload.source_id:
        return redirect("import", upload.source_id)
    proposal = uploads.propose_mapping(upload)
    if not proposal:
        raise Http404
    form = ConfirmForm(initial={"run_name": upload.run_name})
    if request.method == "POST":
        if "cancel" in request.POST:
            uploads.discard(upload=upload, actor=request.user)
            messages.success(request, "Upload cancelled. Nothing was imported.")
            return redirect("runs")
        form = ConfirmForm(request.POST)
        if form.is_valid():
            with refusal_in(form, ImportRefused, "run_name"):
                name, mapping = form.cleaned_data["run_name"], proposal.shipped.read()
                return redirect("import", uploads.enqueue_mapped(upload, run_name=name, mapping=mapping).pk)
    return render_form(request, "files/uploads/mapping.html", form, upload=upload, proposal=proposal)
