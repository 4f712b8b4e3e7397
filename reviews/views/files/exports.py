"""Request exports, follow their progress, and download the file with its receipt."""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from reviews.exports import downloads, formats, jobs, output
from reviews.exports.documents import InvalidExport, imported_format
from reviews.exports.output import ExportOptions
from reviews.http.request import Request
from reviews.models import Export, Import, IndependentReview, Run
from reviews.views.files.imports import poll_seconds
from reviews.views.form_fields import refusal_in
from reviews.views.shortcuts import form_page, load_in_run, load_run, render_form, render_part

SHOWN_EXPORTS = 20


class ExportForm(forms.Form):
    """The options of an export. An empty field has its first choice."""

    only = forms.ChoiceField(
        label="Lines",
        required=False,
        choices=[("all", "All lines"), ("reviewed", "Only reviewed lines")],
        initial="all",
        widget=forms.RadioSelect,
    )
    with_rejected = forms.BooleanField(
        label="Include rejected lines at their original positions (only with all lines, not in tables)",
        required=False,
    )
    only_import = forms.ModelChoiceField(
        Import.objects.none(),
        label="File",
        required=False,
        empty_label="The whole run, each record once",
        help_text="For one file: its own lines, with the decisions made here.",
    )
    format = forms.ChoiceField(
        label="Format",
        required=False,
        help_text="As imported: JSONL, or the JSON document. Tables cannot be imported.",
    )
    compression = forms.ChoiceField(
        label="Compression",
        required=False,
        choices=[("", "None"), ("gzip", "gzip (.gz)"), ("zstd", "Zstandard (.zst)")],
    )

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._run = run
        names = {"": "As imported", "jsonl": "JSONL", "csv": "CSV", "parquet": "Parquet"}
        format_field: Any = self.fields["format"]
        format_field.choices = [(key, name) for key, name in names.items() if formats.is_installed(key)]
        import_field: Any = self.fields["only_import"]
        import_field.queryset = run.files
        import_field.label_from_instance = lambda one: f"{one.file_name} (import {one.pk})"

    def options(self) -> ExportOptions:
        given = self.cleaned_data
        return ExportOptions(
            self._run,
            only=given["only"] or "all",
            with_rejected=given["with_rejected"],
            only_import=given["only_import"],
            format=given["format"]
            or imported_format(self._run, given["only_import"], given["only"] or "all"),
            compression=given["compression"],
        )


@form_page
def export(request: Request, run_pk: int) -> HttpResponse:
    """List the exports of a run. POST enqueues an export and redirects to its page."""
    run = load_run(request, run_pk, "export_run")
    form = ExportForm(request.POST if request.method == "POST" else None, run=run)
    if form.is_valid():
        with refusal_in(form, InvalidExport):
            return redirect("export-page", jobs.enqueue(options=form.options(), actor=request.user).pk)
    context = {
        "run": run,
        "has_independent_reviews": IndependentReview.objects.filter(evaluation__run=run).exists(),
        "kept_for": settings.KEEP_EXPORTS // timedelta(hours=1),
        "exports": run.exports.select_related("created_by").order_by("-pk")[:SHOWN_EXPORTS],
    }
    return render_form(request, "files/exports/list.html", form, **context)


@require_safe
def export_page(request: Request, pk: int) -> HttpResponse:
    """Show the progress of an export, then its file. htmx requests the changing part only."""
    exports = Export.objects.select_related("run", "created_by", "only_import", "progress")
    export = load_in_run(request, exports, pk, "export_run")
    context = {
        "export": export,
        "unfinished": export.state == Export.State.UNFINISHED,
        "seconds_to_next_look": poll_seconds(export),
        "file_name": output.export_options(export).file_name,
        "kept_until": export.finished_at and export.finished_at + settings.KEEP_EXPORTS,
    }
    return render_part(request, "files/exports/page.html", "state", context)


@require_safe
def export_file(request: Request, pk: int) -> StreamingHttpResponse | HttpResponse:
    """Send the file, or the range of a Range header."""
    return downloads.file_response(_finished(request, pk), request.user, request)


@require_POST
def cancel_export(request: Request, pk: int) -> HttpResponse:
    export = load_in_run(request, Export.objects.all(), pk, "export_run")
    jobs.cancel(export_id=export.pk, actor=request.user)
    return redirect("export-page", export.pk)


@require_safe
def export_receipt(request: Request, pk: int) -> StreamingHttpResponse:
    """Send the receipt, for `manage.py verify_export`."""
    return downloads.receipt_response(_finished(request, pk))


def _finished(request: Request, pk: int) -> Export:
    rows = Export.objects.select_related("run", "only_import")
    export = load_in_run(request, rows, pk, "export_run")
    if export.state != Export.State.DONE:
        raise Http404
    return export
