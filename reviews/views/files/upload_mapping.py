"""Confirm the mapping for an uploaded file of a known tool, before anything is imported."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.imports import uploads
from reviews.models import RUN_NAME_LENGTH, Upload
from reviews.storage.errors import ImportRefused
from reviews.views.form_fields import refusal_in
from reviews.views.parts import render_form


class ConfirmForm(forms.Form):
    run_name = forms.CharField(
        label="Run",
        max_length=RUN_NAME_LENGTH,
        help_text="A new name creates a new run.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
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
