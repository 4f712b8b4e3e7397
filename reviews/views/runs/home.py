"""The list of runs, and the upload of a file."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import can, check
from reviews.http.request import Request
from reviews.imports import jobs, uploads
from reviews.models import Import, Run
from reviews.queue import progress
from reviews.storage import decompression
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused


class UploadForm(forms.Form):
    """A file and the run it goes into."""

    file = forms.FileField(
        label="JSONL file",
        help_text="One evaluation a line, or a JSON array of them; packed by gzip or zstd if you like. "
        "Bad lines are listed; the good ones come in.",
        # Of an upload that broke off, Django leaves the file out as if none had been chosen.
        error_messages={"required": "Choose a file. If you did, the upload broke off: send it again."},
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,.gz,.zst"}),
    )
    run_name = forms.CharField(
        label="Run",
        required=False,
        max_length=Run._meta.get_field("name").max_length,
        help_text="A new name makes a new run. Left empty, the run is named after the file.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    strict = forms.BooleanField(required=False, label="Import nothing if any line is bad")

    def clean_file(self) -> "UploadedFile[Any]":
        file: UploadedFile[Any] = self.cleaned_data["file"]
        try:
            uploads.check_size(file.size or 0)
        except uploads.FileTooLarge as error:
            raise ValidationError(str(error)) from error
        return file


@require_http_methods(["GET", "HEAD", "POST"])
def runs(request: Request) -> HttpResponse:
    """All runs with their progress. An admin sends a file here (POST) and is led to its import."""
    check(request.user, "review_evaluation")
    form = UploadForm()
    if request.method == "POST":
        check(request.user, "import_file")
        form = UploadForm(request.POST, request.FILES)
        upload = _receive(form, request) if form.is_valid() else None
        if upload:
            return redirect("import", upload.pk)
    context = {
        "runs": progress.all_progress(),
        "form": form,
        "may_import": can(request.user, "import_file"),
    }
    return render(request, "runs/home.html", context, status=422 if form.is_bound else 200)


def _receive(form: UploadForm, request: Request) -> Import | None:
    """The import of an uploaded file; None with the reason in the form if the importer refuses."""
    file = form.cleaned_data["file"]
    try:
        return jobs.enqueue_import(
            run_name=form.cleaned_data["run_name"] or decompression.base_name(file.name),
            file_name=file.name,
            blocks=file.chunks(BLOCK_SIZE),
            strict=form.cleaned_data["strict"],
            actor=request.user,
        )
    except ImportRefused as refused:
        form.add_error("run_name" if refused.field == "run" else "file", str(refused))
        return None
