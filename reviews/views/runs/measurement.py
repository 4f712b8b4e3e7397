"""The sampling and blind review settings of a run: which shares are scored blind, sampled and overlap."""

from typing import Any

from django import forms

from reviews.judge import measurement_settings
from reviews.judge.measurement_settings import (
    FEWEST_REVIEWERS,
    MOST_REVIEWERS,
    MeasurementSettings,
    percent,
)
from reviews.models import Run, User
from reviews.views.runs.settings_page import SettingsForm

_SHARES = ("blind_share", "sample_share", "overlap_share")


class PercentField(forms.FloatField):
    """A share from 0 to 1 that people read and enter as a percentage."""

    def __init__(self, label: str, help_text: str) -> None:
        super().__init__(label=label, help_text=help_text)
        self.widget.attrs |= {"min": 0, "max": 100, "step": "any", "inputmode": "decimal"}

    def clean(self, value: Any) -> float:
        return float(super().clean(value)) / 100


class MeasurementForm(SettingsForm):
    """The sampling and blind review settings of a run."""

    template = "runs/measurement.html"
    saved = "Saved. Applies to reviews from now on."
    next_page = "run-measurement"

    seen = forms.CharField(widget=forms.HiddenInput)
    blind_share = PercentField(
        "Blind review (%)",
        "The share of records whose judge scores are hidden until the reviewer locks in their own. Reviewers"
        " who see a score tend to agree with it, so only blind reviews give an unbiased figure.",
    )
    sample_share = PercentField(
        "Random sample of unflagged records (%)",
        "The share of unflagged records that is queued for review, to estimate the missed errors. Sampled"
        " records look like flagged ones; confirmed ones are exported unchanged.",
    )
    overlap_share = PercentField(
        "Overlap (%)",
        "The share of records that several people review independently, to measure how often they agree."
        " Where they disagree, a lead decides.",
    )
    overlap = forms.IntegerField(
        label="Reviewers per record", help_text=f"{FEWEST_REVIEWERS} to {MOST_REVIEWERS}."
    )

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        self.fields["overlap"].widget.attrs |= {"min": FEWEST_REVIEWERS, "max": MOST_REVIEWERS}

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = measurement_settings.current_settings(run)
        shares = {name: percent(getattr(known, name)) for name in _SHARES}
        return known.as_json() | shares | {"seen": known.fingerprint}

    def configure(self, run: Run, actor: User) -> None:
        entered = {name: self.cleaned_data[name] for name in (*_SHARES, "overlap")}
        measurement_settings.configure(
            run_id=run.pk,
            actor=actor,
            measures=MeasurementSettings(**entered),
            seen=self.cleaned_data["seen"],
        )

    def context(self, run: Run) -> dict[str, Any]:
        return {"reach": measurement_settings.describe_shares(run)}
