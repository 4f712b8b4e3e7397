"""The settings of a run: its rubric, with links to the other settings."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from reviews.http.request import Request
from reviews.models import Run, User
from reviews.queue.claim_length import claim_length
from reviews.records.conflicts import SettingsChanged
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import MAX_BYTES, RubricError, format_rubric, parse_rubric
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.views.access import load_run
from reviews.views.runs.settings_page import SettingsForm


class RubricForm(SettingsForm):
    """A rubric as TOML."""

    template = "runs/settings.html"
    saved = "Saved. Verdicts follow this rubric from now on."

    seen = forms.CharField(widget=forms.HiddenInput)
    rubric = forms.CharField(
        label="Rubric",
        help_text="TOML with the criteria, their scales, the verdict rule and the causes of judge errors.",
        max_length=MAX_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "mono"}),
    )

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = run_rubric(run)
        return {"rubric": format_rubric(known), "seen": known.fingerprint}

    def clean_rubric(self) -> Rubric:
        try:
            return parse_rubric(self.cleaned_data["rubric"].encode())
        except RubricError as error:
            problems = [f"{place}: {reason}" for place, reason in error.problems]
            raise forms.ValidationError([forms.ValidationError(problem) for problem in problems]) from None

    def configure(self, run: Run, actor: User) -> None:
        said = self.cleaned_data
        declare_rubric(run_id=run.pk, actor=actor, rubric=said["rubric"], seen=said["seen"])

    def context(self, run: Run) -> dict[str, Any]:
        return {"claim_minutes": round(claim_length(run).total_seconds() / 60)}


@require_POST
def confirm_rubric(request: Request, run_pk: int) -> HttpResponse:
    """Declare the rubric of a run as it is, unless it is another one than the person saw."""
    run = load_run(request, run_pk, "configure_run")
    seen = request.POST.get("seen", "")
    try:
        declare_rubric(run_id=run.pk, actor=request.user, rubric=run_rubric(run), seen=seen)
    except SettingsChanged:
        messages.warning(request, "The rubric has changed since you opened the page. Check it again.")
        return redirect("run-settings", run.pk)
    messages.success(request, "The rubric is confirmed. Imports do not change it.")
    return redirect("run", run.pk)
