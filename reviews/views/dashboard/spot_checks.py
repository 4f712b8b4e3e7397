"""Spot checks: a lead reviews decisions drawn at random, one by one."""

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.dashboard import spot_checks
from reviews.evidence import record as evidence_record
from reviews.http.request import Request
from reviews.models import SpotCheck, User
from reviews.records.conflicts import Conflict
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.views.access import load_in_run
from reviews.views.dashboard import filters


class DrawForm(forms.Form):
    """The reviewer, and the number of decisions to draw."""

    reviewer = forms.ModelChoiceField(User.objects.all(), to_field_name="username")
    count = forms.IntegerField(min_value=1, max_value=spot_checks.MOST_DRAWN)


class OutcomeForm(forms.Form):
    """The lead's answer to a spot check. Reopening requires a reason."""

    outcome = forms.ChoiceField(choices=SpotCheck.Outcome.choices[1:])
    note = forms.CharField(required=False, max_length=5_000)

    def clean(self) -> None:
        is_reopened = self.cleaned_data.get("outcome") == SpotCheck.Outcome.REOPENED
        if is_reopened and not self.cleaned_data.get("note"):
            self.add_error("note", "Enter the reason for reopening.")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def drawn(request: Request) -> HttpResponse:
    """List the pending spot checks. POST draws `count` decisions of a `reviewer` in the posted scope."""
    check(request.user, "lead_review")
    form = DrawForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        return _draw(request, **form.cleaned_data)
    context = {"checks": spot_checks.open_checks(request.user), "errors": form.errors}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "dashboard/spot_checks.html", context, status=status)


def _draw(request: Request, reviewer: User, count: int) -> HttpResponse:
    """Draw decisions and open the first one, or go back if none is left."""
    selection = filters.read_filters(request.POST, request.user, reviewer).selection
    found = spot_checks.draw(selection=selection, count=count, actor=request.user)
    if not found:
        messages.info(request, "No decisions left to draw. All current decisions were drawn before.")
        return redirect("reviewer-activity", reviewer.pk)
    messages.success(request, f"Drew {len(found):,} decisions of {reviewer.name}.")
    return redirect("spot-check", found[0].pk)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def spot_check(request: Request, pk: int) -> HttpResponse:
    """Show a drawn decision with its evidence. POST agrees with it, or reopens it with a reason."""
    check(request.user, "lead_review")
    rows = SpotCheck.objects.select_related("review__evaluation__run", "reviewer", "resolved_by")
    drawn = load_in_run(request, rows, pk)
    form = OutcomeForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, drawn, form)
    try:
        _complete(request, drawn, form)
    except Conflict as conflict:
        messages.error(request, conflict.reason)
    following = spot_checks.open_checks(request.user)
    if following:
        return redirect("spot-check", following[0].pk)
    messages.success(request, "All spot checks are done.")
    return redirect("reviewer-activity", drawn.reviewer_id)


def _complete(request: Request, drawn: SpotCheck, form: OutcomeForm) -> None:
    note, title = form.cleaned_data["note"], drawn.review.evaluation.title
    if form.cleaned_data["outcome"] == SpotCheck.Outcome.AGREED:
        spot_checks.agree(check_id=drawn.pk, actor=request.user, note=note)
        messages.success(request, f"Agreed: {title}.")
    else:
        spot_checks.reopen(check_id=drawn.pk, actor=request.user, reason=note)
        messages.success(request, f"Reopened: {title} is in the queue again.")


def _page(request: Request, drawn: SpotCheck, form: OutcomeForm) -> HttpResponse:
    record = drawn.review.evaluation
    proposals = read_proposals(record, run_rubric(record.run))
    context = {
        "drawn": drawn,
        "evaluation": record,
        "evidence": evidence_record.read_evidence(record, proposals, reader=request.user),
        "decision": evidence_record.summarise_decision(record, proposals),
        "changes": [],
        "is_open": drawn.outcome == SpotCheck.Outcome.OPEN and record.review_id == drawn.review_id,
        "left": len(spot_checks.open_checks(request.user)),
        "form": form,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "dashboard/spot_check.html", context, status=status)
