"""The list of runs, the upload of a file, and the export of a run."""

from pathlib import PurePath

from django import forms
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from reviews import audit, exporter, importer, queue
from reviews.models import Import, Run
from reviews.permissions import can, check
from reviews.source import BLOCK_SIZE, Refused
from reviews.views.download import download
from reviews.views.request import Request


class UploadForm(forms.Form):
    """A file and the run it goes into."""

    file = forms.FileField(
        label="JSONL file",
        help_text="One evaluation a line. Bad lines are listed; the good ones come in.",
        # Of an upload that broke off, Django leaves the file out as if none had been chosen.
        error_messages={"required": "Choose a file. If you did, the upload broke off: send it again."},
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json"}),
    )
    run_name = forms.CharField(
        label="Run",
        required=False,
        max_length=Run._meta.get_field("name").max_length,
        help_text="A new name makes a new run. Left empty, the run is named after the file.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    strict = forms.BooleanField(required=False, label="Import nothing if any line is bad")


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
        "runs": queue.runs_with_progress(),
        "form": form,
        "may_import": can(request.user, "import_file"),
        "may_export": can(request.user, "export_run"),
    }
    return render(request, "runs/page.html", context, status=422 if form.is_bound else 200)


def _receive(form: UploadForm, request: Request) -> Import | None:
    """The import of an uploaded file; None with the reason in the form if the importer refuses."""
    file = form.cleaned_data["file"]
    try:
        return importer.receive_upload(
            run_name=form.cleaned_data["run_name"] or PurePath(file.name).stem,
            file_name=file.name,
            blocks=file.chunks(BLOCK_SIZE),
            strict=form.cleaned_data["strict"],
            actor=request.user,
        )
    except Refused as refused:
        form.add_error("run_name" if refused.field == "run" else "file", str(refused))
        return None


@require_POST
def export(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Send the run as JSONL: all of it or only what is reviewed, with the rejected lines if asked for.

    A POST, because it leaves an audit event.
    """
    check(request.user, "export_run")
    run = get_object_or_404(Run, pk=run_pk)
    only = request.POST.get("only", "all")
    with_rejected = "with_rejected" in request.POST
    if only not in exporter.ONLY:
        raise BadRequest
    with transaction.atomic():
        audit.record("export", actor=request.user, run=run, only=only, with_rejected=with_rejected)
    suffix = "-reviewed" if only == "reviewed" else ""
    return download(exporter.export(run, only=only, with_rejected=with_rejected), f"{run.name}{suffix}.jsonl")
