"""How the judge of a run is measured, on one page: what share is scored blind, drawn, and seen by several."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.judge import measurement_settings
from reviews.judge.measurement_settings import (
    FEWEST_REVIEWERS,
    MOST_REVIEWERS,
    InvalidSettings,
    MeasurementSettings,
    percent,
)
from reviews.models import Run

_OUTDATED = (
    "Somebody changed these settings since you opened the page. What you entered stands below; saving it puts"
    " it in the place of theirs."
)
_SHARES = ("blind_share", "sample_share", "overlap_share")


class PercentField(forms.FloatField):
    """A share from 0 to 1 that people read and enter in per cent."""

    def __init__(self, label: str, help_text: str) -> None:
        super().__init__(label=label, help_text=help_text)
        self.widget.attrs |= {"min": 0, "max": 100, "step": "any", "inputmode": "decimal"}

    def clean(self, value: Any) -> float:
        return float(super().clean(value)) / 100


class MeasuresForm(forms.Form):
    """The measures of a run. `seen` is the fingerprint of those that the person began with."""

    blind_share = PercentField(
        "Scored blind, in per cent",
        "Of the records: the judge's scores stay hidden until the reviewer has committed their own. Who sees"
        " a score leans towards it, so only these tell how far people agree with the judge.",
    )
    sample_share = PercentField(
        "Drawn from what nobody flagged, in per cent",
        "Of the records that need no review: they are put into the queue, where nothing tells them from"
        " flagged ones. Only these tell what the flags miss. What nobody corrects is exported as it came.",
    )
    overlap_share = PercentField(
        "Reviewed by several people, in per cent",
        "Of the records: each person decides without seeing the others. What they agree on is decided; where"
        " they differ a lead decides. Only these tell how far people agree with each other.",
    )
    overlap = forms.IntegerField(
        label="By how many people", help_text=f"{FEWEST_REVIEWERS} to {MOST_REVIEWERS}."
    )
    seen = forms.CharField(widget=forms.HiddenInput)
    use_required_attribute = False

    def __init__(self, data: Any, known: MeasurementSettings) -> None:
        initial = known.as_json() | {name: percent(getattr(known, name)) for name in _SHARES}
        super().__init__(data, initial=initial | {"seen": known.fingerprint})
        self.fields["overlap"].widget.attrs |= {"min": FEWEST_REVIEWERS, "max": MOST_REVIEWERS}

    def measures(self) -> MeasurementSettings:
        """What the valid form says."""
        return MeasurementSettings(**{name: self.cleaned_data[name] for name in (*_SHARES, "overlap")})

    def tell(self, wrong: InvalidSettings) -> None:
        for name, sentence in wrong.problems.items():
            self.add_error(name, sentence)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def run_measures(request: Request, run_pk: int) -> HttpResponse:
    """Show how the judge is measured; a POST changes it, or says in the form why not (422, 409)."""
    check(request.user, "configure_run")
    run = get_object_or_404(Run, pk=run_pk)
    form = MeasuresForm(
        request.POST if request.method == "POST" else None, measurement_settings.current_settings(run)
    )
    if form.is_valid():
        seen = form.cleaned_data["seen"]
        try:
            measurement_settings.configure(
                run_id=run.pk, actor=request.user, measures=form.measures(), seen=seen
            )
        except InvalidSettings as wrong:
            form.tell(wrong)
        except measurement_settings.SettingsChanged:
            return _outdated(request, run)
        else:
            messages.success(request, "Saved. It holds for what is reviewed from now on.")
            return redirect("run-measurement", run.pk)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return _page(request, run, form, status)


def _outdated(request: Request, run: Run) -> HttpResponse:
    """What was entered, on top of what is in force by now."""
    run.refresh_from_db()
    known = measurement_settings.current_settings(run)
    data = request.POST.copy()
    data["seen"] = known.fingerprint
    form = MeasuresForm(data, known)
    form.add_error(None, _OUTDATED)
    return _page(request, run, form, HTTPStatus.CONFLICT)


def _page(request: Request, run: Run, form: MeasuresForm, status: HTTPStatus) -> HttpResponse:
    context = {"run": run, "form": form, "reach": measurement_settings.describe_shares(run)}
    return render(request, "runs/measurement.html", context, status=status)
