"""List the open escalations of a run, for a lead to answer."""

from http import HTTPStatus
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.database.pagination import page_by_key, parse_key
from reviews.http.request import Request
from reviews.models import Escalation, Run
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.conflicts import Conflict
from reviews.review import escalations
from reviews.views.access import load_run

PAGE_SIZE = 20


class AnswerForm(forms.Form):
    """A lead's answer to an escalation."""

    outcome = forms.ChoiceField(
        choices=[("returned", "back to the queue"), ("closed", "closed")],
        error_messages={"required": "Choose an outcome."},
    )
    answer = forms.CharField(max_length=5_000, error_messages={"required": "Enter an answer."})


class Item(NamedTuple):
    """An open escalation with its reason and form."""

    escalation: Escalation
    reason: str
    form: AnswerForm


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def open_escalations(request: Request, run_pk: int) -> HttpResponse:
    """List the open escalations, oldest first, after the key `after`.

    POST answers the escalation with the key `which`.
    """
    run = load_run(request, run_pk, "lead_review")
    if request.method != "POST":
        return _page(request, run)
    raised = get_object_or_404(run.escalations, pk=parse_key(request.POST.get("which", "")))
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _page(request, run, answered=(raised.pk, form))
    try:
        escalations.resolve(escalation_id=raised.pk, actor=request.user, **form.cleaned_data)
    except Conflict as conflict:
        messages.error(request, conflict.reason)
    else:
        title, outcome = raised.evaluation.title, Escalation.Outcome(form.cleaned_data["outcome"])
        messages.success(request, f"Answered: {title}. {outcome.label.capitalize()}.")
    return redirect("open-escalations", run.pk)


def _page(request: Request, run: Run, answered: tuple[int, AnswerForm] | None = None) -> HttpResponse:
    """Render a page of the list. An invalid answer comes first, with the entered text."""
    wrong, form = answered or (0, AnswerForm())
    after = request.GET.get("after", "") if request.method != "POST" else str(wrong - 1)
    page = page_by_key(_open(run), after=after, size=PAGE_SIZE)
    items = [
        Item(one, escalations.REASONS.get(one.reason, ""), form if one.pk == wrong else AnswerForm())
        for one in page.rows
    ]
    context = {
        "run": run,
        "items": items,
        "open": _open(run).count(),
        "after": after if request.method != "POST" else "",
        "next_after": page.next_after,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if answered else HTTPStatus.OK
    return render(request, "dashboard/escalations.html", context, status=status)


def _open(run: Run) -> QuerySet[Escalation]:
    rows = run.escalations.filter(outcome=Escalation.Outcome.OPEN).select_related("evaluation", "raised_by")
    return rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))
