"""The sampling and blind review settings of a run: the target and the shares of its records."""

from dataclasses import asdict
from typing import Any

from django import forms

from cognireview.types.runs import SamplingSettings
from reviews.judge import sampling_settings
from reviews.judge.sampling_settings import FEWEST_REVIEWERS, MOST_REVIEWERS, percentage
from reviews.models import Run, User
from reviews.rubric.run_settings import current_settings, fingerprint
from reviews.views.runs.settings_page import SettingsForm

_SHARES = ("blind_share", "sample_share", "overlap_share", "spot_check_share")


class PercentField(forms.FloatField):
    """A share from 0 to 1 that people read and enter as a percentage."""

    def __init__(self, label: str, help_text: str, *, required: bool = True) -> None:
        super().__init__(label=label, help_text=help_text, required=required)
        self.widget.attrs |= {"min": 0, "max": 100, "step": "any", "inputmode": "decimal"}

    def clean(self, value: Any) -> float | None:
        entered = super().clean(value)
        return None if entered is None else entered / 100


class SamplingForm(SettingsForm):
    place = "run-sampling"
    path = "sampling"
    intro = (
        "Sampling is deterministic: raising a share keeps the records already selected. "
        "Changes apply to reviews from now on."
    )
    template = "runs/sampling.html"
    saved = "Saved. The shares apply to reviews from now on."
    next_page = "run-sampling"

    seen = forms.CharField(widget=forms.HiddenInput)
    accuracy_target = PercentField(
        "Target accuracy (%)",
        "The judge should give the verdict of a blind reviewer on at least this share of all records. Leave"
        " the field empty for no target.",
        required=False,
    )
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
    spot_check_share = PercentField(
        "Spot checks (%)",
        "The share of each reviewer's decisions that is drawn for a spot check as they are made. Any other"
        " lead checks them.",
    )

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        self.fields["overlap"].widget.attrs |= {"min": FEWEST_REVIEWERS, "max": MOST_REVIEWERS}

    @classmethod
    def summary(cls, run: Run) -> str:
        blind, sample, overlap = map(percentage, (run.blind_share, run.sample_share, run.overlap_share))
        return (
            f"{blind}% are scored blind, {sample}% of unflagged records are sampled, and {overlap}% are"
            " reviewed by several people."
        )

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = current_settings(SamplingSettings, run)
        shares = {name: percentage(getattr(known, name)) for name in _SHARES}
        target = "" if known.accuracy_target is None else percentage(known.accuracy_target)
        return asdict(known) | shares | {"accuracy_target": target, "seen": fingerprint(known)}

    def configure(self, run: Run, actor: User) -> None:
        entered = {name: self.cleaned_data[name] for name in (*_SHARES, "overlap", "accuracy_target")}
        sampling_settings.configure(
            run_id=run.pk,
            actor=actor,
            settings=SamplingSettings(**entered),
            seen=self.cleaned_data["seen"],
        )

    def context(self, run: Run) -> dict[str, Any]:
        return {"shares": sampling_settings.describe_shares(run)}
