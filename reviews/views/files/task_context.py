"""List the imported files of task context, and upload one."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.imports.task_context import import_context
from reviews.models import ContextImport, Run
from reviews.records.wording import counted
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused
from reviews.views.form_fields import UploadField, refusal_in
from reviews.views.shortcuts import form_page, render_form

SHOWN = 50
SHOWN_ENTRIES = 100


class ContextForm(forms.Form):
    file = UploadField(
        label="JSON or JSONL file",
        help_text="Tasks with prompt, reference and model answers, as the pipeline's ingestion writes them; "
        "optionally compressed with gzip or zstd.",
        accept=".json,.jsonl,.ndjson,.gz,.zst",
    )
    run = forms.ModelChoiceField(
        Run.objects.filter(archived_at=None).order_by("name"),
        label="Run",
        required=False,
        empty_label="Every run without its own task context",
        help_text="Records are matched by task ID, and answers by model ID.",
    )


@form_page
def contexts(request: Request) -> HttpResponse:
    """List the files, newest first. POST imports a file."""
    check(request.user, "import_context")
    form = ContextForm(request.POST, request.FILES) if request.method == "POST" else ContextForm()
    if form.is_valid():
        with refusal_in(form, ImportRefused, "file"):
            done = _import(form, request)
            messages.success(
                request, f"Imported {counted(done.tasks, 'task')} with {counted(done.answers, 'answer')}."
            )
            return redirect("task-context")
    imports = ContextImport.objects.select_related("run", "created_by").order_by("-pk")[:SHOWN]
    template = "files/task_context/page.html"
    return render_form(request, template, form, imports=imports, shown_entries=SHOWN_ENTRIES)


def _import(form: ContextForm, request: Request) -> ContextImport:
    file, run = form.cleaned_data["file"], form.cleaned_data["run"]
    return import_context(
        blocks=file.chunks(BLOCK_SIZE),
        file_name=file.name,
        run_name=run.name if run else None,
        actor=request.user,
    )
