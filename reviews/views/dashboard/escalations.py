"""List the open escalations of a run, for a lead to answer."""

import re
from http import HTTPStatus
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.models import Escalation, Run
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.conflicts import Conflict
from reviews.review import escalations

PAGE_SIZE = 20
_KEY = re.compile("[0-9]{1,18}")


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
    check(request.user, "lead_review")
    run = get_object_or_404(Run, pk=run_pk)
    if request.method != "POST":
        return _page(request, run)
    key = request.POST.get("which", "")
    raised = get_object_or_404(run.escalations, pk=int(key) if _KEY.fullmatch(key) else 0)
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
    rows = _open(run).filter(pk__gt=int(after) if _KEY.fullmatch(after) else 0)
    found = list(rows[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    items = [
        Item(one, escalations.REASONS.get(one.reason, ""), form if one.pk == wrong else AnswerForm())
        for one in shown
    ]
    context = {
        "run": run,
        "items": items,
        "open": _open(run).count(),
        "after": after if request.method != "POST" else "",
        "next_after": shown[-1].pk if len(found) > PAGE_SIZE else None,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if answered else HTTPStatus.OK
    return render(request, "dashboard/escalations.html", context, status=status)


def _open(run: Run) -> QuerySet[Escalation]:
    rows = run.escalations.filter(outcome=Escalation.Outcome.OPEN).select_related("evaluation", "raised_by")
    return rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS)).order_by("pk")
