"""The name of a run, and its archiving, as settings pages."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from reviews.http.request import Request
from reviews.models import RUN_NAME_LENGTH, Run, User
from reviews.runs.changes import archive_run, rename_run, unarchive_run
from reviews.views.access import load_run
from reviews.views.runs.settings_page import SettingsForm


class NameForm(SettingsForm):
    """The name of a run."""

    template = "runs/name.html"
    saved = "Saved. The run has the new name on all pages, in exports and in the API."

    name = forms.CharField(
        label="Name",
        max_length=RUN_NAME_LENGTH,
        help_text="Addresses of pages stay. Addresses of the API contain the name.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def stored_values(self, run: Run) -> dict[str, Any]:
        return {"name": run.name}

    def configure(self, run: Run, actor: User) -> None:
        rename_run(run_id=run.pk, actor=actor, name=self.cleaned_data["name"])


@require_POST
def archive(request: Request, run_pk: int) -> HttpResponse:
    """Archive a run."""
    run = load_run(request, run_pk, "configure_run")
    archive_run(run_id=run.pk, actor=request.user)
    return redirect("run", run.pk)


@require_POST
def unarchive(request: Request, run_pk: int) -> HttpResponse:
    """Return an archived run to the lists."""
    run = load_run(request, run_pk, "configure_run")
    unarchive_run(run_id=run.pk, actor=request.user)
    return redirect("run", run.pk)
