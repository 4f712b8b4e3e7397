"""The name of a run as a settings page, and archiving and deleting a run."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from reviews.http.request import Request
from reviews.models import RUN_NAME_LENGTH, Run, User
from reviews.queue.progress import run_progress
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import archive_run, rename_run, request_deletion, unarchive_run
from reviews.views.form_fields import refusal_in
from reviews.views.runs.settings_page import SettingsForm
from reviews.views.shortcuts import form_page, load_run, render_form


class RunNameForm(SettingsForm):
    place = "run-name"
    path = "name"
    template = "runs/name.html"
    saved = "Saved. The run has the new name on all pages, in exports and in the API."

    name = forms.CharField(
        label="Name",
        max_length=RUN_NAME_LENGTH,
        help_text="Addresses of pages stay. Addresses of the API contain the name.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    @classmethod
    def summary(cls, run: Run) -> str:
        return (
            "The run is archived."
            if run.archived_at
            else "Rename the run, or archive it once it is finished."
        )

    def stored_values(self, run: Run) -> dict[str, Any]:
        return {"name": run.name}

    def configure(self, run: Run, actor: User) -> None:
        rename_run(run_id=run.pk, actor=actor, name=self.cleaned_data["name"])


@require_POST
def archive(request: Request, run_pk: int, *, undo: bool = False) -> HttpResponse:
    """Archive a run, or return an archived one to the lists."""
    run = load_run(request, run_pk, "configure_run")
    change = unarchive_run if undo else archive_run
    change(run_id=run.pk, actor=request.user)
    return redirect("run", run.pk)


class DeletionForm(forms.Form):
    confirmation = forms.CharField(
        label="Name of the run",
        max_length=RUN_NAME_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


@form_page
def delete(request: Request, run_pk: int) -> HttpResponse:
    """Show the extent of a deletion. A POST with the name of the run deletes it (admins)."""
    run = load_run(request, run_pk, "delete_run")
    form = DeletionForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_in(form, InvalidSettings, "confirmation"):
            confirmation = form.cleaned_data["confirmation"]
            request_deletion(run_id=run.pk, actor=request.user, confirmation=confirmation)
            messages.success(request, f"{run.name} is being deleted.")
            return redirect("runs")
    context = {"run": run, "progress": run_progress(run), "files": run.files.count()}
    return render_form(request, "runs/delete.html", form, **context)
