"""Undo the last action of a person in a run."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from reviews.accounts.permissions import can, can_revise
from reviews.http.redirects import SeeOther, sending_page
from reviews.http.request import Request
from reviews.models import Run
from reviews.records.conflicts import Conflict
from reviews.review import undo as review_undo
from reviews.review.undo import Undone, UndoRefused
from reviews.views.review import screen
from reviews.views.shortcuts import load_run


@require_POST
def undo(request: Request, run_pk: int) -> HttpResponse:
    """Undo the person's last action, or the one of a toast (`event`), and show its record again."""
    run = load_run(request, run_pk)
    try:
        undone = review_undo.undo(run=run, actor=request.user, event=screen.posted_key(request, "event"))
    except Conflict as refusal:
        return _refused(request, run, refusal)
    messages.success(request, _sentence(undone))
    response = screen.show(request, undone.evaluation)
    response.headers["X-Undone"] = str(undone.action.event.pk)
    return response


def _sentence(undone: Undone) -> str:
    is_decision = undone.action.is_decision
    if undone.is_claimed:
        return f"Undone. {undone.evaluation.title} is open again{' with your scores' if is_decision else ''}."
    return f"Undone: {undone.action.label}.{' Your scores are kept as a draft.' if is_decision else ''}"


def _refused(request: Request, run: Run, refusal: Conflict) -> HttpResponse:
    """Show why nothing was undone, on the page that the person is on, with a link to the alternative."""
    sentence = refusal.reason
    if isinstance(refusal, UndoRefused):
        record = screen.load(request, refusal.action.record.pk)
        is_disputed = record.is_escalated and not can(request.user, "lead_review")
        is_revisable = record.is_decided and not is_disputed and can_revise(request.user, record)
        place, label = ("revise", "Revise it") if is_revisable else ("evaluation", "Open record")
        sentence = format_html('{} <a href="{}">{}</a>', sentence, reverse(place, args=[record.pk]), label)
        messages.error(request, sentence)
    else:
        messages.info(request, sentence, extra_tags="leaves")
    if not request.htmx:
        return SeeOther(sending_page(request))
    context = {"run": run, "query": screen.working_filters(request).query_string}
    response = render(request, "review/record/messages.html", context, status=HTTPStatus.CONFLICT)
    response.headers["HX-Reswap"] = "none"
    return response
