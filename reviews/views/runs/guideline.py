"""The guideline of a run, as a settings page."""

from typing import Any

from django import forms

from reviews.models import Run, User
from reviews.rubric.guidelines import MAX_GUIDELINE, current_guideline, write_guideline
from reviews.views.runs.settings_page import SettingsForm


class GuidelineForm(SettingsForm):
    place = "run-guideline"
    path = "guideline"
    intro = "How reviewers should score this run. Each decision notes the version it was made under."
    template = "runs/guideline.html"
    saved = "Saved. Decisions from now on note this version."

    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(
        required=False,
        label="Guideline",
        help_text="Markdown with LaTeX. Reviewers open it next to the scores.",
        max_length=MAX_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 20}),
    )

    @classmethod
    def summary(cls, run: Run) -> str:
        if run.guideline_version:
            return f"Version {run.guideline_version}, shown next to the scores."
        return "How reviewers should score this run, shown next to the scores."

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = current_guideline(run)
        return {"text": known.text if known else "", "seen": run.guideline_version}

    def configure(self, run: Run, actor: User) -> None:
        said = self.cleaned_data
        write_guideline(run_id=run.pk, actor=actor, text=said["text"], seen=said["seen"])

    def context(self, run: Run) -> dict[str, Any]:
        return {"versions": run.guidelines.select_related("created_by").order_by("-version")}
