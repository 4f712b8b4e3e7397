"""The page on which an admin imports a file."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.imports import jobs, uploads
from reviews.imports.recognition import ToolRecognised
from reviews.models import Import, Run, Upload
from reviews.storage import decompression
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused
from reviews.views.form_fields import UploadField, refusal_in
from reviews.views.parts import render_form

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


@require_http_methods(["GET", "HEAD", "POST"])
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
