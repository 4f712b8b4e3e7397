"""The page that sets how long a claim lasts in a run."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.http.request import Request
from reviews.models import Run
from reviews.queue.claim_length import MAX_MINUTES, configure_claim_length
from reviews.views.access import load_run


class ClaimLengthForm(forms.Form):
    """The length of a claim. An empty field means the setting of the site."""

    minutes = forms.IntegerField(
        required=False, min_value=1, max_value=MAX_MINUTES, label="Claim length in minutes"
    )
    use_required_attribute = False

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, initial={"minutes": run.claim_minutes})
        site_minutes = settings.CLAIM_LENGTH.total_seconds() / 60
        self.fields["minutes"].help_text = f"If you leave it empty, a claim lasts {site_minutes:g} minutes."


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def run_claim_length(request: Request, run_pk: int) -> HttpResponse:
    """Show how long claims last in a run. A POST changes it, or shows the errors (422)."""
    run = load_run(request, run_pk, "configure_run")
    form = ClaimLengthForm(request.POST if request.method == "POST" else None, run)
    if form.is_valid():
        configure_claim_length(run_id=run.pk, actor=request.user, minutes=form.cleaned_data["minutes"])
        messages.success(request, "Saved. Claims have the new length from their next renewal on.")
        return redirect("run-settings", run.pk)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "runs/claim_length.html", {"run": run, "form": form}, status=status)
